// One leadership term of planning: collects gated pods by workflow, plans them together, and lands them.
import { looseFields, reasonOf } from "@isochrone/primitives";
import { isOnlyOurGate, hasOurGate, keyOf } from "@isochrone/kubernetes";
import type { InformerChange, KubernetesObject, PodSpec, LandingNode } from "@isochrone/kubernetes";
import { PLANNED_NODE_ANNOTATION } from "@isochrone/topology";
import { pause } from "@isochrone/runtime";
import type { Clock, Logger } from "@isochrone/runtime";
import type { PodChanges } from "../adapters/cluster-pods.ts";
import { isGone, placementOf } from "../adapters/observed-pod.ts";
import type { PodWriter } from "./adapters/pod-writer.ts";
import type { ClusterModel } from "./cluster-model.ts";
import type { GatedPod, GatedWorkflow, GatedWorkflows } from "./gated-workflows.ts";
import type { Arrival } from "./landings.ts";
import { isRoomComing, workflowOf } from "./room-to-come.ts";
import { Lander } from "./lander.ts";
import type { PlannedPod } from "./lander.ts";
import type { MarkedPods } from "./marked-pods.ts";
import type { PlannerMetrics, ReleaseReason } from "./metrics.ts";
import type { PlacedByPlan, PlanningResult, WorkflowPlanning } from "./planning.ts";
import type { AskedPod, PodPromises, PromisedNodes } from "./promises/pod-promises.ts";
import type { PlannerReports } from "./reports.ts";
import type { StrandedPods } from "./stranded-pods.ts";
import type { PlannerConfig } from "./settings.ts";

interface WorkflowPlannerOptions {
  readonly config: PlannerConfig;
  readonly pods: PodChanges;
  readonly model: ClusterModel;
  readonly planning: WorkflowPlanning;
  readonly writer: PodWriter;
  readonly stranded: StrandedPods;
  readonly marked: Pick<MarkedPods, "take" | "expire">;
  readonly promises: PodPromises;
  readonly gated: GatedWorkflows;
  readonly reports: PlannerReports;
  readonly metrics: PlannerMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

const LOOK_MS = 500;
const HURRY_MS = 10;
/** A loop idle this long beyond its searches' time is stuck. */
const STUCK_MS = 8_000;
const RETRY_MS = 2_000;
/** Bounds the requests to the API server at a time. */
const CONCURRENT_WORKFLOWS = 8;
/** Before it is looked again whether a workflow can be planned that has to wait for something. */
const WAIT_MS = 200;

export class WorkflowPlanner {
  readonly #options: WorkflowPlannerOptions;
  readonly #lander: Lander;
  readonly #stop = new AbortController();
  readonly #endOfPods: () => void;
  readonly #running: Promise<void>;
  readonly #landing = new Set<Promise<void>>();
  /** UIDs of released pods: gates that the cluster still shows are outdated. */
  readonly #handled = new Set<string>();
  /** Pods that a previous process bound to nodes, whose places aren't reserved yet; by key. */
  readonly #adopted = new Map<string, { readonly pod: KubernetesObject; readonly node: string }>();
  #wake = new AbortController();
  #replacing: Promise<void> | null = null;
  #early: string | null = null;
  #knowsPods = false;
  #roundMs: number;

  constructor(options: WorkflowPlannerOptions) {
    this.#options = options;
    const { config, pods, writer, clock, logger, metrics } = options;
    this.#roundMs = clock.monotonic();
    this.#lander = new Lander({
      ...config,
      writer,
      clock,
      logger,
      metrics,
      onArrival: (arrival) => this.#arrived(arrival),
      onTaken: (planned) => this.#taken(planned),
      onHeld: (pod, error) => this.#held(pod, error),
    });
    this.#endOfPods = pods.onChange((change) => this.#take(change));
    void this.#awaitPods();
    this.#running = this.#run();
  }

  trouble(): string | null {
    const { clock, config, model, planning } = this.#options;
    if (!this.#knowsPods || !model.isSynced) return "the cluster's objects were not listed yet";
    if (clock.monotonic() - this.#roundMs > STUCK_MS + 2 * config.planMs) return "the planner's loop hangs";
    return this.#lander.trouble ?? planning.trouble();
  }

  promise(asked: AskedPod): PromisedNodes | null {
    return this.trouble() === null ? this.#options.promises.promise(asked) : null;
  }

  /** Drops running plans. Nominated pods are still released, or found by the next leader. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake.abort();
    this.#endOfPods();
    await this.#running;
    await Promise.all(this.#landing);
    await this.#replacing;
    this.#options.metrics.gatedPods.set(0);
    this.#options.metrics.awaited.set(0);
  }

  async #awaitPods(): Promise<void> {
    try {
      await this.#options.pods.synced(this.#stop.signal);
      this.#knowsPods = true;
      this.#wake.abort();
    } catch {}
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const nowMs = clock.monotonic();
      this.#roundMs = nowMs;
      this.#look(nowMs);
      const isFree = this.#landing.size < CONCURRENT_WORKFLOWS;
      const workflow = isFree && this.#isReady() ? this.#options.gated.take(nowMs) : null;
      if (workflow === null) {
        if (isFree && this.#isReady()) this.#searchEarly(nowMs);
        await this.#rest(isFree);
      } else
        await this.#plan(workflow).catch((error: unknown) => {
          logger.error("a workflow can't be planned", { workflow: workflow.key, error });
          this.#release(workflow.pods, "error", `planning failed: ${reasonOf(error)}`);
        });
    }
  }

  #look(nowMs: number): void {
    const { config, metrics } = this.#options;
    this.#lander.expire();
    this.#options.promises.expire();
    this.#options.marked.expire();
    this.#placeAdopted();
    this.#replaceStranded();
    const overdue = this.#options.gated.waitingSince(nowMs - config.deadlineMs, nowMs);
    if (overdue.length > 0)
      this.#release(overdue, "deadline", `it waited for a plan for ${config.deadlineMs} ms`);
    metrics.gatedPods.set(this.#options.gated.pods);
    metrics.awaited.set(this.#lander.awaited);
  }

  #replaceStranded(): void {
    this.#replacing ??= this.#options.stranded.replaceDue(this.#stop.signal).finally(() => {
      this.#replacing = null;
    });
  }

  #searchEarly(nowMs: number): void {
    const { gated, planning } = this.#options;
    const workflow = this.#early === null ? gated.takeEarly(nowMs) : null;
    if (workflow === null) return;
    this.#early = workflow.key;
    void planning
      .searchEarly(workflow, gated.pods - workflow.pods.length)
      .catch(() => undefined)
      .finally(() => {
        this.#early = null;
        this.#wake.abort();
      });
  }

  async #rest(isFree: boolean): Promise<void> {
    const { clock } = this.#options;
    const { gated } = this.#options;
    const earlyMs = this.#early === null ? gated.nextEarlyMs() : Infinity;
    const dueMs = isFree && this.#isReady() ? Math.min(gated.nextDueMs(), earlyMs) : Infinity;
    const waitMs = Math.min(LOOK_MS, Math.max(1, dueMs - clock.monotonic()));
    this.#wake = new AbortController();
    await pause(clock, waitMs, AbortSignal.any([this.#stop.signal, this.#wake.signal]));
  }

  #isReady(): boolean {
    return this.#knowsPods && this.#options.model.isSynced;
  }

  async #plan(workflow: GatedWorkflow): Promise<void> {
    const { clock, config, model, planning, stranded, promises } = this.#options;
    const nowMs = clock.monotonic();
    const replacements = workflow.pods.filter(({ object }) => stranded.isReplacement(object));
    if (replacements.length > 0) {
      const text = "it stands for a pod that none of its planned nodes took";
      return this.#release(replacements, "replacement", text);
    }
    const maxSettleMs = promises.awaitsRoom(workflow) ? config.graphWaitMs : config.maxSettleMs;
    const patience = { ...config, maxSettleMs, waitedMs: nowMs - workflow.firstMs, nowMs: clock.now() };
    if (isRoomComing(workflow, model, patience))
      return this.#options.gated.putOff(workflow.key, nowMs + WAIT_MS);
    const others = (): number => this.#options.gated.pods - workflow.pods.length;
    const done = new AbortController();
    const hurrying = this.#hurry(() => planning.hurry(workflow, nowMs, others()), done.signal);
    const result = await planning
      .plan(workflow, {
        mayWait: nowMs - workflow.firstMs < config.graphWaitMs,
        othersWaiting: others(),
      })
      .finally(() => done.abort());
    await hurrying;
    if (this.#stop.signal.aborted) return;
    if (result.kind === "wait") return this.#options.gated.putOff(workflow.key, nowMs + WAIT_MS);
    this.#land(workflow, result);
  }

  /** Pods of other workflows may arrive during a search, which shortens it. */
  async #hurry(hurry: () => void, done: AbortSignal): Promise<void> {
    while (!done.aborted) {
      await pause(this.#options.clock, HURRY_MS, done);
      if (!done.aborted) hurry();
    }
  }

  #land(workflow: GatedWorkflow, { levels, unplanned }: Extract<PlanningResult, { kind: "planned" }>): void {
    for (const { pods, reason, text } of unplanned) this.#release(pods, reason, text);
    const waiting = levels.map((level) => level.filter(({ pod }) => this.#options.gated.has(pod.key)));
    const planned = waiting.flat();
    if (planned.length === 0) return;
    for (const { pod, node } of planned) this.#options.model.assume(pod.object, node);
    const landed = waiting
      .filter((level) => level.length > 0)
      .map((level) => level.map((placed): PlannedPod => ({ ...placed, among: this.#among(placed) })));
    this.#begin(
      planned.map(({ pod }) => pod),
      (signal) => this.#lander.land(landed, signal),
    );
    this.#options.logger.info("workflow planned", { workflow: workflow.key, pods: planned.length });
  }

  /** Call after all pods of the plan have places in the model. */
  #among({ pod, node, others }: PlacedByPlan): readonly LandingNode[] {
    const { config, model, stranded } = this.#options;
    if (config.landing !== "required-affinity" || !stranded.mayBind(pod.object)) return [];
    return model.landingNodes(pod.key, [node, ...others]);
  }

  #release(pods: readonly GatedPod[], reason: ReleaseReason, text: string): void {
    const waiting = pods.filter(({ key }) => this.#options.gated.has(key));
    if (waiting.length === 0) return;
    this.#options.reports.unplanned(waiting, reason, text);
    this.#begin(waiting, (signal) => this.#lander.release(waiting, reason, signal));
  }

  #begin(pods: readonly GatedPod[], work: (signal: AbortSignal) => Promise<void>): void {
    for (const { key, object } of pods) {
      this.#options.gated.remove(key);
      this.#handled.add(object.metadata.uid ?? "");
    }
    const landing = work(this.#stop.signal).finally(() => {
      this.#landing.delete(landing);
      this.#wake.abort();
    });
    this.#landing.add(landing);
  }

  #take(change: InformerChange): void {
    const { model, clock } = this.#options;
    const { type, object } = change;
    const key = keyOf(object);
    const uid = object.metadata.uid ?? "";
    const isOver = type === "deleted" || isGone(object);
    if (isOver || !hasOurGate(object)) this.#handled.delete(uid);
    if (!isOver && isOnlyOurGate(object)) {
      if (!this.#handled.has(uid)) {
        const isNew = !this.#options.gated.has(key);
        this.#options.gated.put(object, clock.monotonic());
        if (isNew) this.#wake.abort();
        if (isNew && this.#early === workflowOf(object)) this.#options.planning.endEarly();
      }
    } else this.#options.gated.remove(key);
    if (type === "added") this.#adopt(object);
    this.#lander.take(change);
    this.#options.stranded.take(change);
    this.#options.marked.take(change);
    model.takePod(change, this.#lander.isAwaited(key) || this.#handled.has(uid));
  }

  #adopt(pod: KubernetesObject): void {
    const { promises, model, clock } = this.#options;
    const node = pod.metadata.annotations?.[PLANNED_NODE_ANNOTATION];
    const key = keyOf(pod);
    if (node === undefined || looseFields<PodSpec>(pod.spec).nodeName !== undefined || hasOurGate(pod))
      return;
    if (this.#lander.isAwaited(key)) return;
    const kept = promises.redeem(pod);
    const uid = pod.metadata.uid ?? "";
    const flight = { key, uid, releasedMs: clock.monotonic() };
    this.#lander.adopt({ ...flight, ...(kept ?? { node, workflow: "", decision: null }) });
    if (isGone(pod) || placementOf(pod) !== null) return;
    if (kept !== null) model.assume(pod, kept.node);
    else this.#adopted.set(key, { pod, node });
  }

  /**
   * An affinity reserves nothing, unlike a nomination. Anybody may write the annotation, so without a promise
   * it gets only free room.
   */
  #placeAdopted(): void {
    const { model } = this.#options;
    if (this.#adopted.size === 0 || !model.isSynced) return;
    for (const [key, { pod, node }] of this.#adopted)
      if (this.#lander.isAwaited(key) && model.model.verdict(pod, node) === null) model.assume(pod, node);
    this.#adopted.clear();
  }

  #arrived(arrival: Arrival): void {
    const { model, reports } = this.#options;
    const { flight, outcome } = arrival;
    const why = outcome === "elsewhere" ? model.verdict(flight.key, flight.node) : null;
    if (outcome !== "landed" && outcome !== "elsewhere") model.withdraw(flight.key);
    reports.arrived(arrival, why);
  }

  #taken({ pod, decision, workflow }: PlannedPod): void {
    this.#options.model.withdraw(pod.key);
    this.#options.reports.taken(pod, workflow, decision);
  }

  #held(pod: GatedPod, error: unknown): void {
    const { model, clock } = this.#options;
    model.withdraw(pod.key);
    this.#handled.delete(pod.object.metadata.uid ?? "");
    if (error === null || this.#stop.signal.aborted) return;
    const nowMs = clock.monotonic();
    this.#options.gated.putAgain(pod, nowMs);
    this.#options.gated.putOff(`${pod.identity.namespace}/${pod.identity.workflow}`, nowMs + RETRY_MS);
  }
}

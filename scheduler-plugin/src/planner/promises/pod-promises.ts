// Nodes promised to pods at admission. Until the pod appears, a promise counts in the model like a pod, so
// that no place is promised twice.
import {
  gatesOf,
  keyOf,
  LABELS,
  moveOwnerOf,
  narrowedAffinity,
  PLANNED_AMONG_ANNOTATION,
} from "@isochrone/kubernetes";
import { looseFields, looseText } from "@isochrone/primitives";
import type { KubernetesObject, LandingNode } from "@isochrone/kubernetes";
import type { AssumedPod } from "@isochrone/placement";
import { PLANNED_NODE_ANNOTATION } from "@isochrone/topology";
import { entryOf } from "../../domain/reserved-use.ts";
import { identifyPod } from "../../domain/pod.ts";
import type { GraphSource } from "../../ports/ports.ts";
import { PROMISE_ANNOTATION } from "../adapters/pod-writer.ts";
import { RELEASE_ANNOTATION } from "../adapters/release-orders.ts";
import { workloadOf } from "../gated-workflows.ts";
import type { GatedPod, GatedWorkflow } from "../gated-workflows.ts";
import { usableGraphs } from "../graphs.ts";
import type { UsableGraphs } from "../graphs.ts";
import type { PlannerReports } from "../reports.ts";
import type { Release } from "../settings.ts";
import type { StrandedPods } from "../stranded-pods.ts";
import type { JointPlans } from "./joint-plans.ts";
import { singlePlan } from "./single-plan.ts";
import type { SinglePlan, SinglePlanOptions } from "./single-plan.ts";
import { standingIn } from "./standing.ts";
import { TimeBudget } from "./time-budget.ts";
import { withoutGoing } from "../workflow-to-be.ts";

export interface AskedPod {
  /** With its namespace; its name may be only a prefix. */
  readonly pod: KubernetesObject;
  readonly appGroup: KubernetesObject | null;
  readonly isDryRun: boolean;
}

export interface PromisedNodes {
  readonly affinity: object;
  readonly annotations: Readonly<Record<string, string>>;
}

interface KeptPromise {
  readonly node: string;
  readonly workflow: string;
  readonly decision: string;
}

interface PodPromisesOptions extends SinglePlanOptions {
  readonly graphs: GraphSource;
  readonly stranded: Pick<StrandedPods, "mayBind">;
  readonly joint: Pick<
    JointPlans,
    "assumed" | "awaitsRoom" | "isRoomComing" | "isTooSoon" | "lacksPlan" | "placeFor" | "planFor" | "take"
  >;
  readonly reports: Pick<PlannerReports, "admitted">;
  /** True if a pod of its controller is being moved: the move's record then names the target. */
  readonly isMoving: (pod: KubernetesObject) => boolean;
  readonly newId: () => string;
  /** Monotonic. @default CPU time of the thread */
  readonly cpuMs?: () => number;
}

interface Made {
  readonly plan: SinglePlan;
  readonly graphs: UsableGraphs;
  readonly madeMs: number;
}

/** The API server has then created the pod or refused it (for example over quota). */
const KEPT_MS = 10_000;
/** How long after a request the model tracks nodes in advance. */
const MODEL_KEPT_MS = 60_000;
/** Promises are kept within milliseconds. More are of refused pods, or of a foreign caller. */
const MAX_PROMISES = 200;

export class PodPromises {
  readonly #options: PodPromisesOptions;
  readonly #promises = new Map<string, Made>();
  readonly #budget = new TimeBudget();
  #isModelWanted = false;
  #askedMs = -Infinity;

  constructor(options: PodPromisesOptions) {
    this.#options = options;
  }

  /** Null: the pod must wait for a plan, or there is no time to plan now. */
  promise(asked: AskedPod): PromisedNodes | null {
    const { clock, cpuMs = threadCpuMs } = this.#options;
    const nowMs = clock.monotonic();
    if (!this.#mayPromise(asked) || !this.#budget.isLeft(nowMs)) return null;
    const beganMs = cpuMs();
    try {
      return this.#promise(asked, nowMs);
    } finally {
      this.#budget.spend(cpuMs() - beganMs);
    }
  }

  awaitsRoom({ key }: Pick<GatedWorkflow, "key">): boolean {
    return this.#options.joint.awaitsRoom(key);
  }

  redeem(pod: KubernetesObject): KeptPromise | null {
    const id = pod.metadata.annotations?.[PROMISE_ANNOTATION] ?? "";
    const promise = this.#promises.get(id);
    // Anybody may write the annotation.
    if (promise === undefined || !isFor(pod, promise)) return null;
    this.#drop(id);
    const { plan, graphs } = promise;
    const seen = { ...plan.pod, key: keyOf(pod), identity: identifyPod(pod), object: pod };
    const workflow = workflowOf(seen);
    const decision = this.#options.reports.admitted({ ...plan, pod: seen }, workflow, graphs);
    return { node: plan.node, workflow, decision };
  }

  /** Ends promises without a pod. Call regularly; does the slow work. */
  expire(): void {
    const nowMs = this.#options.clock.monotonic();
    if (this.#isModelWanted || nowMs - this.#askedMs < MODEL_KEPT_MS) void this.#options.model.model;
    this.#isModelWanted = false;
    const thenMs = nowMs - KEPT_MS;
    for (const [id, { madeMs }] of this.#promises) if (madeMs <= thenMs) this.#drop(id);
  }

  #mayPromise({ pod, appGroup }: AskedPod): boolean {
    const { config, stranded, isMoving } = this.#options;
    // A copy of another pod has that pod's nodes.
    if (pod.metadata.annotations?.[PLANNED_AMONG_ANNOTATION] !== undefined) return false;
    if (config.landing !== "required-affinity" || !stranded.mayBind(pod)) return false;
    if (isReleasedInOrder(pod, appGroup, config.release) || gatesOf(pod).length > 0) return false;
    return !isMoving(pod);
  }

  #promise({ pod, isDryRun }: AskedPod, nowMs: number): PromisedNodes | null {
    const { graphs, model, newId, clock } = this.#options;
    const id = newId();
    const object = unnamed(pod, id);
    const asked = { key: keyOf(object), identity: identifyPod(object), object, sinceMs: nowMs };
    const { identity } = asked;
    const found = usableGraphs(
      graphs,
      { namespace: identity.namespace, name: identity.workflow },
      clock.now(),
    );
    if ("reason" in found) return null;
    this.#askedMs = nowMs;
    this.#isModelWanted ||= !model.isQuick;
    if (this.#isModelWanted || this.#promises.size >= MAX_PROMISES) return null;
    if (model.model.unsupported(object).length > 0) return null;
    const plan = this.#plan(asked, withoutGoing(found, model));
    if (plan === null) return null;
    model.assume(object, plan.node);
    const among = model.landingNodes(asked.key, [plan.node, ...plan.others]);
    const affinity = among[0]?.name === plan.node ? narrowedAffinity(pod, among) : null;
    if (isDryRun || affinity === null) model.withdraw(asked.key);
    else {
      this.#options.joint.take(plan);
      this.#keep(id, { plan: { ...plan, pod: asked }, graphs: found, madeMs: nowMs });
    }
    return affinity && { affinity, annotations: annotationsOf(id, among) };
  }

  #plan(asked: GatedPod, graphs: UsableGraphs): SinglePlan | null {
    const { joint } = this.#options;
    const place = joint.placeFor(asked, graphs);
    if (place !== null) return place;
    if (joint.isTooSoon(asked, graphs)) return null;
    const isReplacing = joint.lacksPlan(asked, graphs);
    const made = isReplacing ? joint.planFor(asked, graphs) : null;
    if (made !== null) return made;
    if (joint.isRoomComing(asked, graphs)) return null;
    const ahead = joint.assumed(asked, graphs);
    if (this.#runs(asked, graphs, ahead)) return singlePlan(asked, graphs, this.#options, ahead);
    return isReplacing ? null : joint.planFor(asked, graphs);
  }

  /** True if all peers of the pod stay or have places; else it is planned with them. */
  #runs(asked: GatedPod, { workflow }: UsableGraphs, ahead: readonly AssumedPod[]): boolean {
    const workload = workloadOf(asked, workflow);
    if (workload === null) return false;
    const isStanding = standingIn(workflow, this.#options);
    const placed = new Set(ahead.map((pod) => pod.workload));
    return [...workflow.peersOf(workload)].every(
      (peer) => peer === workload || placed.has(peer) || isStanding(peer),
    );
  }

  #keep(id: string, promise: Made): void {
    const { ledger, wishes, clock } = this.#options;
    const { plan, graphs } = promise;
    this.#promises.set(id, promise);
    if (plan.zone !== null) wishes.take(plan.pod.object, plan.zone);
    const entry = entryOf(plan.pod.identity, plan.node, graphs.workflow, null);
    ledger.record(entry, graphs.workflow, clock.monotonic());
  }

  #drop(id: string): void {
    const { identity, key } = this.#promises.get(id)!.plan.pod;
    this.#promises.delete(id);
    this.#options.model.withdraw(key);
    this.#options.ledger.remove(identity.namespace, identity.name);
  }
}

function isReleasedInOrder(pod: KubernetesObject, appGroup: AskedPod["appGroup"], release: Release): boolean {
  // An unknown AppGroup may ask for it.
  if (appGroup === null && pod.metadata.labels?.[LABELS.appGroup] !== undefined) return true;
  return (appGroup?.metadata.annotations?.[RELEASE_ANNOTATION] ?? release) === "ordered";
}

function isFor(pod: KubernetesObject, { plan }: Made): boolean {
  const { object, identity } = plan.pod;
  return pod.metadata.namespace === identity.namespace && moveOwnerOf(pod)?.uid === moveOwnerOf(object)?.uid;
}

/** Uses an impossible pod name, because its own isn't known yet. */
function unnamed(pod: KubernetesObject, id: string): KubernetesObject {
  const { name, generateName } = looseFields<Record<"name" | "generateName", unknown>>(pod.metadata);
  return {
    ...pod,
    metadata: { ...pod.metadata, name: `${looseText(name) || looseText(generateName)}~${id}` },
  };
}

function annotationsOf(id: string, among: readonly LandingNode[]): Record<string, string> {
  const names = among.map(({ name }) => name);
  return {
    [PLANNED_NODE_ANNOTATION]: names[0]!,
    [PLANNED_AMONG_ANNOTATION]: names.join(","),
    [PROMISE_ANNOTATION]: id,
  };
}

function workflowOf({ identity }: GatedPod): string {
  return `${identity.namespace}/${identity.workflow}`;
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

import {
  conditionsOf,
  isStoreError,
  keyOf,
  KINDS,
  podView,
  timestamp,
  withConditions,
} from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { ClusterStore, Informer, KubernetesObject, PodStatus } from "@isochrone/kubernetes";
import {
  DefaultScores,
  feasibleNodesToFind,
  reasonsOf,
  SchedulingModel,
  unschedulableMessage,
} from "@isochrone/placement";
import { delayMs } from "@isochrone/runtime";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { ExtenderError } from "../errors.ts";
import { podSpec } from "../objects.ts";
import { Reconciler } from "../reconciler.ts";
import { ExtenderClient } from "./extender.ts";
import type { ExtenderConfig } from "./extender.ts";
import { interleaveRegions } from "./spread.ts";

/**
 * `score`: as kube-scheduler, with the extender if set. `spread`: round robin over distant nodes among those
 * the pod prefers; deliberately bad.
 */
export type Placement = "score" | "spread";

/** kube-scheduler's backoff for unschedulable pods. */
const POD_BACKOFF = { initialMs: 1_000, maxMs: 10_000, factor: 2, jitterRatio: 0 };

interface Backoff {
  attempts: number;
  untilMs: number;
}

interface Snapshot {
  readonly nodes: readonly KubernetesObject[];
  readonly model: SchedulingModel;
  readonly scores: DefaultScores;
}

/** Minimal kube-scheduler: one pod at a time; filters, scores, extender and binding, but no preemption. */
export class Scheduler {
  readonly #store: ClusterStore;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #reconciler: Reconciler;
  readonly #backoff = new Map<string, Backoff>();
  #placement: Placement;
  #extender: ExtenderClient | null = null;
  /** Start of the next search for feasible nodes, so that all get their turn. */
  #nextStart = 0;
  #nextSpread = 0;

  constructor(options: {
    store: ClusterStore;
    pods: Informer;
    nodes: Informer;
    placement: Placement;
    clock: Clock;
    random: Random;
    logger: Logger;
  }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#logger = options.logger;
    this.#placement = options.placement;
    this.#reconciler = new Reconciler({
      name: "scheduler",
      reconcile: () => this.#schedulePending(),
      clock: options.clock,
      logger: options.logger,
    });
    options.pods.onChange(() => this.#reconciler.trigger());
    options.nodes.onChange(() => this.#reconciler.trigger());
  }

  setExtender(config: ExtenderConfig | null): void {
    this.#extender = config === null ? null : new ExtenderClient(config, this.#clock);
    if (config !== null) this.#placement = "score";
    this.#backoff.clear();
    this.#reconciler.trigger();
  }

  start(): void {
    this.#reconciler.start();
  }

  stop(): Promise<void> {
    return this.#reconciler.stop();
  }

  async #schedulePending(): Promise<void> {
    const { items: pods } = await this.#store.list(KINDS.pod);
    const pending = pods.filter(isPending);
    pending.sort(
      (a, b) =>
        (a.metadata.creationTimestamp ?? "").localeCompare(b.metadata.creationTimestamp ?? "") ||
        compareNames(a, b),
    );
    const keys = new Set(pending.map(keyOf));
    for (const key of this.#backoff.keys()) if (!keys.has(key)) this.#backoff.delete(key);
    for (const pod of pending) {
      const waitMs = (this.#backoff.get(keyOf(pod))?.untilMs ?? 0) - this.#clock.monotonic();
      if (waitMs <= 0) await this.#scheduleOne(pod);
    }
  }

  async #scheduleOne(pod: KubernetesObject): Promise<void> {
    const snapshot = await this.#snapshot();
    const { nodes } = snapshot;
    try {
      const { feasible, reasons } = await this.#findFeasible(pod, snapshot);
      if (feasible.length === 0) return await this.#reject(pod, unschedulableMessage(nodes.length, reasons));
      const chosen =
        this.#placement === "spread"
          ? this.#nextOf(nodes, snapshot.scores.mostPreferred(pod, namesOf(feasible)))
          : await this.#best(pod, feasible, snapshot);
      await this.#store.bind(
        { namespace: pod.metadata.namespace ?? "default", name: pod.metadata.name },
        chosen,
      );
      this.#backoff.delete(keyOf(pod));
      this.#logger.debug("pod bound", { pod: pod.metadata.name, node: chosen, feasible: feasible.length });
    } catch (error) {
      if (isStoreError(error, "not_found") || isStoreError(error, "conflict")) return;
      if (!(error instanceof ExtenderError)) throw error;
      await this.#reject(pod, error.message);
    }
  }

  async #snapshot(): Promise<Snapshot> {
    const [nodes, pods, services, replicaSets] = await Promise.all(
      [KINDS.node, KINDS.pod, KINDS.service, KINDS.replicaSet].map(
        async (kind) => (await this.#store.list(kind)).items,
      ),
    );
    const model = SchedulingModel.of({ nodes: nodes!, pods: pods! });
    const scores = new DefaultScores(model, { services: services!, replicaSets: replicaSets! });
    return { nodes: interleaveRegions(nodes!), model, scores };
  }

  async #findFeasible(
    pod: KubernetesObject,
    { nodes, model }: Snapshot,
  ): Promise<{ feasible: readonly KubernetesObject[]; reasons: readonly string[] }> {
    // Like kube-scheduler, takes a nominated node that fits without examining others.
    const { nominatedNodeName } = looseFields<PodStatus>(pod.status);
    const nominated = nodes.find(({ metadata }) => metadata.name === nominatedNodeName);
    if (nominated !== undefined && model.verdict(pod, nominated.metadata.name) === null)
      return { feasible: [nominated], reasons: [] };
    const reasons: string[] = [];
    const feasible: KubernetesObject[] = [];
    const wanted = feasibleNodesToFind(nodes.length);
    let seen = 0;
    for (; seen < nodes.length && feasible.length < wanted; seen++) {
      const node = nodes[(this.#nextStart + seen) % nodes.length]!;
      const rejection = model.verdict(pod, node.metadata.name);
      if (rejection === null) feasible.push(node);
      else reasons.push(...reasonsOf(rejection));
    }
    this.#nextStart = nodes.length === 0 ? 0 : (this.#nextStart + seen) % nodes.length;
    const extender = this.#extender;
    if (
      extender === null ||
      this.#placement === "spread" ||
      feasible.length === 0 ||
      !extender.isInterested(pod)
    )
      return { feasible, reasons };
    try {
      const result = await extender.filter(pod, feasible);
      return { feasible: result.feasible, reasons: [...reasons, ...result.failed.values()] };
    } catch (error) {
      if (extender.config.ignorable !== true) throw error;
      this.#logger.warnOnce("extender filter", "extender skipped", { error });
      return { feasible, reasons };
    }
  }

  #nextOf(nodes: readonly KubernetesObject[], feasible: readonly string[]): string {
    const names = new Set(feasible);
    for (let step = 0; step < nodes.length; step++) {
      const { name } = nodes[this.#nextSpread++ % nodes.length]!.metadata;
      if (names.has(name)) return name;
    }
    return feasible[0]!;
  }

  /** Highest sum of scores, ties at random. A single candidate isn't scored. */
  async #best(
    pod: KubernetesObject,
    feasible: readonly KubernetesObject[],
    { scores }: Snapshot,
  ): Promise<string> {
    const names = namesOf(feasible);
    if (names.length === 1) return names[0]!;
    const extended = await this.#extenderScores(pod, feasible);
    const own = scores.totals(pod, names);
    const totals = names.map((name, row) => own[row]! + (extended.get(name) ?? 0));
    const best = Math.max(...totals);
    const ties = names.filter((_, row) => totals[row] === best);
    return ties[Math.floor(this.#random.next() * ties.length)]!;
  }

  async #extenderScores(
    pod: KubernetesObject,
    feasible: readonly KubernetesObject[],
  ): Promise<ReadonlyMap<string, number>> {
    if (this.#extender === null || !this.#extender.isInterested(pod)) return new Map();
    try {
      return await this.#extender.prioritize(pod, feasible);
    } catch (error) {
      this.#logger.warnOnce("extender prioritize", "extender scores missing", { error });
      return new Map();
    }
  }

  async #reject(pod: KubernetesObject, message: string): Promise<void> {
    const key = keyOf(pod);
    const attempts = (this.#backoff.get(key)?.attempts ?? 0) + 1;
    const pauseMs = delayMs(POD_BACKOFF, attempts, this.#random);
    this.#backoff.set(key, { attempts, untilMs: this.#clock.monotonic() + pauseMs });
    this.#reconciler.triggerLater(pauseMs + 1);
    const known = conditionsOf(pod).some(
      (condition) => condition.type === "PodScheduled" && condition.message === message,
    );
    if (known) return;
    this.#logger.info("pod not scheduled", { pod: pod.metadata.name, reason: message });
    const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable", message };
    const conditions = withConditions(pod, [condition], timestamp(this.#clock.now()));
    const ref = { ...KINDS.pod, namespace: pod.metadata.namespace ?? "default", name: pod.metadata.name };
    await this.#store.patch(ref, { status: { conditions } }, { subresource: "status" });
  }
}

function isPending(pod: KubernetesObject): boolean {
  const { node, terminating, finished } = podView(pod);
  const isGated = (podSpec(pod).schedulingGates ?? []).length > 0;
  return node === null && !terminating && !finished && !isGated;
}

function namesOf(nodes: readonly KubernetesObject[]): string[] {
  return nodes.map(({ metadata }) => metadata.name);
}

function compareNames(a: KubernetesObject, b: KubernetesObject): number {
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

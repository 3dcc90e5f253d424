// Applies a frame's changes while this replica leads. The only writer of orchestration.
import { chosenChanges } from "@isochrone/dispatch/replicas";
import { isStoreError, keyOf, KINDS, StoreError } from "@isochrone/kubernetes";
import type { ClusterStore, EventRecorder, KubernetesObject, ReplicaMode } from "@isochrone/kubernetes";
import type { Clock, Logger } from "@isochrone/runtime";
import type { ReplicaReport } from "@isochrone/topology";
import type { Autoscalers } from "./autoscalers.ts";

import type { ReplicaMetrics, ReplicaState } from "./metrics.ts";
import type { ReplicaRefusal, ServiceFrame, WantedChange } from "./service-frame.ts";
import { isDeployment, workloadKey } from "./workload-pods.ts";
import { goingPods, hasForeignCost, isMarked, markSurplus, unmarkSurplus } from "./surplus-pods.ts";

type Row = ReplicaReport["services"][number];

export interface Asking {
  readonly service: KubernetesObject;
  readonly mode: ReplicaMode | "none";
  readonly frame: ServiceFrame | ReplicaRefusal;
}

export interface Outcome {
  readonly state: ReplicaState;
  readonly refused: Row["refused"];
  readonly changes: Row["changes"];
}

interface ScalerOptions {
  readonly store: ClusterStore;
  readonly leads: () => boolean;
  readonly autoscalers: Pick<Autoscalers, "of" | "isSynced"> | null;
  readonly mayMark: boolean;
  readonly changes: number;
  readonly coolDownMs: number;
  readonly minNodes: number;
  readonly events: EventRecorder;
  readonly metrics: ReplicaMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Scaled {
  readonly from: number;
  readonly to: number;
  readonly atMs: number;
}

const FIELD_MANAGER = "isochrone-orchestration";
/** How long a workload is skipped after someone else reset its replicas. */
const LEFT_ALONE_MS = 1_800_000;
/** Reasons that aren't faults: no data to work with. */
const IDLE: ReadonlySet<ReplicaRefusal["reason"]> = new Set(["no_requests", "no_endpoints", "no_graph"]);

export class ReplicaScaler {
  readonly #options: ScalerOptions;
  readonly #scaled = new Map<string, Scaled>();
  readonly #leftAlone = new Map<string, number>();
  #ledSinceMs: number | null = null;
  #told = new Map<string, string>();
  #tells = new Map<string, string>();

  constructor(options: ScalerOptions) {
    this.#options = options;
  }

  get leads(): boolean {
    return this.#options.leads();
  }

  get isSynced(): boolean {
    return this.#options.autoscalers?.isSynced ?? true;
  }

  /**
   * Returns outcomes in the order of `asking`.
   * @param marked pods whose deletion cost we wrote
   */
  async settle(asking: readonly Asking[], marked: readonly KubernetesObject[]): Promise<Outcome[]> {
    this.#begin(asking);
    const open = asking.map((each) => this.#obstacle(each) ?? this.#open(each));
    const chosen = this.#choose(asking, open);
    const going = new Set<string>();
    const outcomes: Outcome[] = [];
    for (const [at, each] of asking.entries()) {
      const changes = chosen.get(each) ?? [];
      const found = open[at]!;
      outcomes.push(
        "reason" in found ? this.#refused(each, found) : await this.#carryOut(each, changes, going),
      );
    }
    if (this.leads && this.#options.mayMark) await this.#unmark(marked, going);
    this.#told = this.#tells;
    return outcomes;
  }

  stale(asking: readonly Asking[]): Outcome[] {
    this.#begin(asking);
    const message = "the demand of zones is stale: nothing is changed";
    const outcomes = asking.map((each): Outcome => {
      if (each.mode !== "none") this.#tell(each, "ReplicasStale", message);
      return { state: "stale", refused: { reason: "stale", message }, changes: [] };
    });
    this.#told = this.#tells;
    return outcomes;
  }

  #begin(asking: readonly Asking[]): void {
    const { clock } = this.#options;
    this.#tells = new Map();
    if (!this.leads) this.#ledSinceMs = null;
    else this.#ledSinceMs ??= clock.monotonic();
    const keys = new Set(asking.map(({ service }) => keyOf(service)));
    for (const known of [this.#scaled, this.#leftAlone])
      for (const key of known.keys()) if (!keys.has(key)) known.delete(key);
  }

  #obstacle({ service, mode, frame }: Asking): ReplicaRefusal | null {
    if ("reason" in frame) return frame;
    if (mode !== "scale") return null;
    const { autoscalers, clock } = this.#options;
    const { kind, name } = frame.workload;
    if (autoscalers === null)
      return { reason: "lever_off", message: "the lever scale is off: dispatch.levers" };
    if (!isDeployment(frame.workload))
      return {
        reason: "not_a_deployment",
        message: `only Deployments are scaled, and this is ${kind} ${name}`,
      };
    const autoscaler = autoscalers.of(frame.workload);
    if (autoscaler !== null)
      return {
        reason: "other_controller",
        message: `HorizontalPodAutoscaler ${autoscaler} scales ${kind} ${name}: have it follow the metric instead (mode metric)`,
      };
    const untilMs = this.#leftAlone.get(keyOf(service)) ?? Number.NEGATIVE_INFINITY;
    return clock.monotonic() < untilMs
      ? { reason: "other_controller", message: `somebody else sets the replicas of ${kind} ${name} back` }
      : null;
  }

  #open(each: Asking): readonly WantedChange[] {
    const { service, mode, frame } = each;
    if ("reason" in frame) return [];
    if (mode !== "scale") return frame.changes;
    const { clock, coolDownMs } = this.#options;
    const nowMs = clock.monotonic();
    const sinceMs = this.#scaled.get(keyOf(service))?.atMs ?? this.#ledSinceMs;
    if (sinceMs !== null && nowMs - sinceMs < coolDownMs) return [];
    const adds = frame.changes.filter(({ kind }) => kind === "add");
    if (adds.length > 0) return adds;
    return this.#mayShrink(each, frame) ? frame.changes : [];
  }

  /** Whether we may choose the pod to delete. */
  #mayShrink(each: Asking, { changes, pods, ready }: ServiceFrame): boolean {
    if (changes.length === 0 || !this.#options.mayMark) return false;
    const foreign = pods.find(hasForeignCost);
    if (foreign !== undefined) {
      const message = `somebody else sets pod-deletion-cost of ${foreign.metadata.name}: no replica is taken away`;
      this.#tell(each, "ReplicasRefused", message);
      return false;
    }
    // Unready pods are deleted first, whatever the costs.
    return pods.every(({ metadata }) => ready.has(metadata.name));
  }

  #choose(
    asking: readonly Asking[],
    open: readonly (readonly WantedChange[] | ReplicaRefusal)[],
  ): Map<Asking, readonly WantedChange[]> {
    const candidates = asking.flatMap((of, at) => {
      const found = open[at]!;
      const { namespace = "default" } = of.service.metadata;
      return "reason" in found ? [] : found.map((change) => ({ ...change, of, namespace }));
    });
    const [written, proposed] = [true, false].map((isWritten) =>
      chosenChanges(
        candidates.filter(({ of }) => (of.mode === "scale") === isWritten),
        this.#options.changes,
      ),
    );
    return Map.groupBy([...written!, ...proposed!], ({ of }) => of);
  }

  async #carryOut(each: Asking, changes: readonly WantedChange[], going: Set<string>): Promise<Outcome> {
    const { mode, frame } = each;
    if ("reason" in frame) return this.#refused(each, frame);
    let isDone = false;
    if (this.leads && mode === "scale" && changes.length > 0)
      isDone = await this.#scale(each, frame, changes, going);
    // An autoscaler deletes pods by itself, so surplus pods are marked in advance.
    if (this.leads && mode === "metric" && this.#mayShrink(each, frame))
      await this.#mark(frame, frame.changes, going);
    this.#keepMarks(each, frame, going);
    const isWanted = frame.zones.every(({ replicas, wanted }) => replicas === wanted);
    return {
      state: changes.length > 0 ? "changing" : isWanted ? "steady" : "waiting",
      refused: null,
      changes: changes.map(({ kind, zone, reason }) => ({ kind, zone, reason, isDone })),
    };
  }

  async #scale(
    each: Asking,
    frame: ServiceFrame,
    changes: readonly WantedChange[],
    going: Set<string>,
  ): Promise<boolean> {
    const { service } = each;
    const key = keyOf(service);
    const from = frame.pods.length;
    if (this.#isSetBack(key, from)) {
      this.#leftAlone.set(key, this.#options.clock.monotonic() + LEFT_ALONE_MS);
      return false;
    }
    const kind = changes[0]!.kind;
    const count = kind === "add" ? changes.length : await this.#mark(frame, changes, going);
    if (count === 0) return false;
    const to = kind === "add" ? from + count : from - count;
    const { namespace, name } = frame.workload;
    const done = await this.#written(kind, count, () =>
      this.#options.store.scale(
        { ...KINDS.deployment, namespace, name },
        { from, to },
        { fieldManager: FIELD_MANAGER },
      ),
    );
    if (!done) return false;
    this.#scaled.set(key, { from, to, atMs: this.#options.clock.monotonic() });
    const note = `${frame.workload.kind} ${name} from ${from} to ${to}: ${changes.map(({ kind: what, zone, reason }) => `${what} in ${zone}, ${reason}`).join("; ")}`;
    this.#options.logger.info("replicas scaled", { service: key, note });
    this.#options.events.event(service, {
      type: "Normal",
      reason: "ReplicasScaled",
      action: "ScaleReplicas",
      note,
    });
    return true;
  }

  /** True if the number is back at the value before this process's last change. */
  #isSetBack(key: string, now: number): boolean {
    const last = this.#scaled.get(key);
    return last !== undefined && last.from === now && last.to !== now;
  }

  async #mark(frame: ServiceFrame, changes: readonly WantedChange[], going: Set<string>): Promise<number> {
    const pods = goingPods({
      pods: frame.pods,
      zoneOf: ({ metadata }) => frame.zoneOf.get(metadata.name) ?? null,
      zones: changes.flatMap(({ kind, zone }) => (kind === "remove" ? [zone] : [])),
      minNodes: this.#options.minNodes,
    });
    let count = 0;
    for (const pod of pods) {
      going.add(keyOf(pod));
      if (await this.#tried(() => markSurplus(this.#options.store, pod))) count++;
    }
    return count;
  }

  /** Keeps the marks until the surplus pods are gone. */
  #keepMarks({ service }: Asking, { pods }: ServiceFrame, going: Set<string>): void {
    const { clock, coolDownMs } = this.#options;
    const last = this.#scaled.get(keyOf(service));
    if (last === undefined || last.to >= pods.length || clock.monotonic() - last.atMs >= coolDownMs) return;
    for (const pod of pods) if (isMarked(pod)) going.add(keyOf(pod));
  }

  async #unmark(marked: readonly KubernetesObject[], going: ReadonlySet<string>): Promise<void> {
    for (const pod of marked)
      if (!going.has(keyOf(pod))) await this.#tried(() => unmarkSurplus(this.#options.store, pod));
  }

  async #written(kind: WantedChange["kind"], count: number, write: () => Promise<void>): Promise<boolean> {
    const done = await this.#tried(write);
    this.#options.metrics.changes.inc({ kind, result: done ? "done" : "failed" }, count);
    return done;
  }

  async #tried(write: () => Promise<void>): Promise<boolean> {
    try {
      await write();
      return true;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      const text = isStoreError(error, "conflict")
        ? "another number of replicas is set than there are pods: a rollout, or somebody else; trying again"
        : "replicas can't be changed, trying again";
      this.#options.logger.warnOnce("replicas-write", text, { error });
      return false;
    }
  }

  #refused(each: Asking, { reason, message }: ReplicaRefusal): Outcome {
    if (IDLE.has(reason)) return { state: "idle", refused: { reason, message }, changes: [] };
    this.#tell(each, "ReplicasRefused", message);
    return { state: "refused", refused: { reason, message }, changes: [] };
  }

  /** Reports once: as an Event, unless writing is off. */
  #tell({ service, mode }: Asking, reason: string, note: string): void {
    const { events, logger } = this.#options;
    const key = keyOf(service);
    this.#tells.set(key, note);
    if (this.#told.get(key) === note || !this.leads) return;
    logger.warn("replicas of a Service are left as they are", { service: key, reason, note });
    if (mode !== "proposal")
      events.event(service, { type: "Warning", reason, action: "ScaleReplicas", note });
  }
}

/** Two Services that scale one workload would undo each other's changes, so both are refused. */
export function withoutShared(asking: readonly Asking[]): Asking[] {
  const sharing = Map.groupBy(
    asking.filter(({ mode, frame }) => !("reason" in frame) && (mode === "metric" || mode === "scale")),
    ({ frame }) => ("reason" in frame ? "" : workloadKey(frame.workload)),
  );
  return asking.map((each): Asking => {
    if ("reason" in each.frame) return each;
    const others = sharing.get(workloadKey(each.frame.workload))?.filter((other) => other !== each) ?? [];
    if (each.mode === "proposal" || others.length === 0) return each;
    const { kind, name } = each.frame.workload;
    const message = `Service ${keyOf(others[0]!.service)} speaks of ${kind} ${name}, too`;
    return { ...each, frame: { reason: "other_controller", message } };
  });
}

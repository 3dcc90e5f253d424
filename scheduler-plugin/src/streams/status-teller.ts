import { isStoreError, keyOf, KINDS, StoreError } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Logger } from "@isochrone/runtime";
import { LINK_SHARES } from "@isochrone/streams";
import { FLOW_PLAN_BOUNDS } from "@isochrone/topology";
import { isDeepStrictEqual } from "node:util";
import type { Verdict } from "./domain/decide.ts";
import type { Placement } from "./domain/placement.ts";
import { isRunning } from "./job-pods.ts";
import {
  jobStatus,
  limitText,
  placedText,
  type JobCondition,
  type JobPhase,
  type JobView,
} from "./job-status.ts";
import type { KnownJob } from "./known-jobs.ts";
import { JOB_PHASES, type StreamMetrics } from "./metrics.ts";
import type { ProfileView } from "./profiling/profiler.ts";

interface StatusTellerOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: StreamMetrics;
}

interface FlowState {
  readonly isAwaited: boolean;
  readonly withoutAddress: readonly string[];
  /** Flows in no plan because their namespace exceeds its share on a node. */
  readonly withoutPlace: readonly string[];
  readonly areApplied: boolean;
}

interface JobNews {
  readonly job: KnownJob;
  readonly verdict: Verdict;
  readonly placement: Placement | null;
  /** Frames/s carried; null if unknown. */
  readonly measured: number | null;
  readonly pods: ReadonlyMap<string, KubernetesObject>;
  readonly podName: (task: string, node: string) => string;
  readonly flows: FlowState;
  readonly profiles: ProfileView | null;
}

type Status = Readonly<Record<string, unknown>>;

export class StatusTeller {
  readonly #options: StatusTellerOptions;
  /** Last written status by UID: the informer may lag. */
  readonly #told = new Map<string, Status>();
  readonly #refused = new Map<string, readonly [KubernetesObject, string]>();
  readonly #phases = new Map<string, JobPhase>();
  readonly #broken = new Set<string>();

  constructor(options: StatusTellerOptions) {
    this.#options = options;
  }

  isNew({ metadata }: KubernetesObject): boolean {
    return !this.#told.has(metadata.uid ?? "");
  }

  refused(object: KubernetesObject, message: string): void {
    this.#refused.set(object.metadata.uid ?? "", [object, message]);
  }

  async tellRefused(): Promise<void> {
    for (const [object, message] of this.#refused.values())
      await this.#write(object, refusedView(message, null, new Map()));
    this.#refused.clear();
    this.#count();
  }

  async tell(news: JobNews): Promise<void> {
    const { job, placement } = news;
    if (isBroken(job, placement)) this.#broken.add(job.uid);
    else this.#broken.delete(job.uid);
    await this.#write(job.object, viewOf(news));
  }

  keep(uids: ReadonlySet<string>): void {
    for (const known of [this.#told, this.#phases, this.#broken])
      for (const uid of known.keys()) if (!uids.has(uid)) known.delete(uid);
  }

  close(): void {
    this.#phases.clear();
    this.#broken.clear();
    this.#count();
  }

  async #write(object: KubernetesObject, view: JobView): Promise<void> {
    const { store, clock, logger, metrics } = this.#options;
    const { uid = "", name, namespace = "default" } = object.metadata;
    this.#phases.set(uid, view.phase);
    const before = this.#told.get(uid) ?? object.status ?? {};
    const patch = jobStatus({ ...object, status: before }, view, clock.now());
    const status = withoutNulls(patch);
    if (isDeepStrictEqual(status, before)) {
      this.#told.set(uid, status);
      return;
    }
    try {
      await store.patch(
        { ...KINDS.streamJob, namespace, name },
        { status: patch },
        { subresource: "status" },
      );
      this.#told.set(uid, status);
    } catch (error) {
      if (isStoreError(error, "not_found")) return;
      metrics.writeFailures.inc({
        write: "status",
        reason: error instanceof StoreError ? error.code : "other",
      });
      logger.warnOnce(`streams:status:${keyOf(object)}`, "status of a StreamJob not written, trying again", {
        streamJob: keyOf(object),
        error,
      });
    }
  }

  #count(): void {
    const { jobs, brokenPromises } = this.#options.metrics;
    const phases = [...this.#phases.values()];
    for (const phase of JOB_PHASES) jobs.set({ phase }, phases.filter((each) => each === phase).length);
    brokenPromises.set(this.#broken.size);
  }
}

const KEPT = 1 - 1e-6;

function isBroken({ definition }: KnownJob, placement: Placement | null): boolean {
  const { minThroughput = null } = definition.spec;
  return placement !== null && minThroughput !== null && placement.throughput < minThroughput * KEPT;
}

function viewOf(news: JobNews): JobView {
  const { job, verdict, placement, measured, flows, profiles: taken } = news;
  const { names, areAllRunning } = podsOf(news);
  if (verdict.kind === "refused") return refusedView(verdict.message, placement, names);
  const profiled = taken === null || taken.wanted === 0 ? [] : [profiledCondition(taken)];
  const promised = placement === null ? [] : promisedCondition(job, placement);
  const conditions = [ACCEPTED, placedCondition(verdict, placement), ...promised, ...profiled];
  const told = { placement, measured, pods: names, profiles: taken?.profiles ?? [] };
  if (verdict.kind === "waiting")
    return { ...told, phase: placement === null ? "Waiting" : "Placing", conditions };
  const applied = flowsCondition(flows);
  const isReady = areAllRunning && applied.status === "True";
  return { ...told, phase: isReady ? "Running" : "Placing", conditions: [...conditions, applied] };
}

function podsOf({ job, placement, pods, podName }: JobNews): {
  readonly names: Map<string, string>;
  readonly areAllRunning: boolean;
} {
  const names = new Map<string, string>();
  let areAllRunning = placement !== null;
  for (const task of job.definition.tasks.keys()) {
    const node = placement?.hosts.get(task);
    const name = node === undefined ? null : podName(task, node);
    const pod = name === null ? undefined : pods.get(name);
    if (pod !== undefined) names.set(task, pod.metadata.name);
    areAllRunning &&= pod !== undefined && isRunning(pod);
  }
  return { names, areAllRunning };
}

const ACCEPTED: JobCondition = {
  type: "Accepted",
  status: "True",
  reason: "Accepted",
  message: "the spec can be carried out",
};

function placedCondition(
  verdict: Exclude<Verdict, { kind: "refused" }>,
  placement: Placement | null,
): JobCondition {
  return verdict.kind === "placed"
    ? { type: "Placed", status: "True", reason: "Placed", message: placedText(placement) }
    : { type: "Placed", status: "False", ...verdict.why };
}

function promisedCondition(job: KnownJob, placement: Placement): JobCondition[] {
  const { minThroughput = null } = job.definition.spec;
  if (minThroughput === null) return [];
  const type = "Promised";
  if (!isBroken(job, placement))
    return [{ type, status: "True", reason: "Kept", message: `it makes ${minThroughput} frames/s or more` }];
  const message =
    `it makes ${placement.throughput.toFixed(2)} of ${minThroughput} frames/s: ${limitText(placement.limit)}; ` +
    `of a link that namespaces share, ${LINK_SHARES.namespace * 100} % are promised to one at most, and ` +
    `${LINK_SHARES.all * 100} % to all`;
  return [{ type, status: "False", reason: "Cut", message }];
}

function flowsCondition({ isAwaited, withoutAddress, withoutPlace, areApplied }: FlowState): JobCondition {
  const condition = (status: "True" | "False", reason: string, message: string): JobCondition => ({
    type: "FlowsApplied",
    status,
    reason,
    message,
  });
  if (withoutPlace.length > 0) {
    const named = withoutPlace.slice(0, MAX_NAMED).join(", ");
    const rule = `namespaces share the ${FLOW_PLAN_BOUNDS.flowsOfNode} flows of a node`;
    return condition("False", "NoPlace", `${withoutPlace.length} flows are not planned: ${named}; ${rule}`);
  }
  if (!isAwaited) return condition("True", "NotAwaited", "nobody keeps the rates: streams.awaitRules is off");
  if (withoutAddress.length > 0)
    return condition("False", "NoAddress", `pods have no address yet: ${withoutAddress.join(", ")}`);
  return areApplied
    ? condition("True", "Applied", "the network managers of all nodes have the flows")
    : condition("False", "NotApplied", "network managers don't have the flows yet");
}

const MAX_NAMED = 3;

function profiledCondition({ profiles, wanted }: ProfileView): JobCondition {
  const failures = profiles.filter(({ failure }) => failure !== null);
  const measured = profiles.filter(({ secondsPerFrame }) => secondsPerFrame !== null).length;
  const sum = `${measured} of ${wanted} pairs of task and kind of node are measured, the others are as declared`;
  if (failures.length > 0) {
    const named = failures
      .slice(0, MAX_NAMED)
      .map((each) => `${each.task} on ${each.kind}: ${each.failure!}`);
    return { type: "Profiled", status: "False", reason: "Failed", message: `${sum}; ${named.join("; ")}` };
  }
  return measured >= wanted
    ? { type: "Profiled", status: "True", reason: "Measured", message: "all kinds of nodes are measured" }
    : { type: "Profiled", status: "False", reason: "Measuring", message: sum };
}

function refusedView(
  message: string,
  placement: Placement | null,
  pods: ReadonlyMap<string, string>,
): JobView {
  const accepted: JobCondition = { type: "Accepted", status: "False", reason: "Invalid", message };
  return { phase: "Failed", placement, measured: null, pods, conditions: [accepted], profiles: null };
}

/** The result of a merge patch, which removes null fields. */
function withoutNulls(value: unknown): Status;
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value;
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutNulls(member)]));
}

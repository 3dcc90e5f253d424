// Status of a StreamJob, for people and for a new leader to continue from.
import { conditionsOf, timestamp, withConditions } from "@isochrone/kubernetes";
import { looseFields, looseList, looseText } from "@isochrone/primitives";
import type { KubernetesObject } from "@isochrone/kubernetes";
import type { JobFlow, JobLimit, Placement } from "./domain/placement.ts";
import type { Profile } from "./domain/profiles.ts";
import { profileStatus } from "./profiling/profile-status.ts";

export type JobPhase = "Waiting" | "Placing" | "Running" | "Failed";

export interface JobCondition {
  readonly type: "Accepted" | "Placed" | "Promised" | "FlowsApplied" | "Profiled";
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

export interface JobView {
  readonly phase: JobPhase;
  readonly placement: Placement | null;
  readonly measured: number | null;
  readonly pods: ReadonlyMap<string, string>;
  readonly conditions: readonly JobCondition[];
  /** Null: unchanged. */
  readonly profiles: readonly Profile[] | null;
}

const DIGITS = 6;

export function jobStatus(job: KubernetesObject, view: JobView, nowMs: number): Record<string, unknown> {
  const { phase, placement, measured, pods, conditions, profiles } = view;
  const { generation } = job.metadata;
  const told = conditions.map((condition) => ({
    ...condition,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  }));
  const held = placement === null ? null : [...placement.hosts].sort(([a], [b]) => (a < b ? -1 : 1));
  // A merge patch removes null fields.
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    phase,
    throughput: placement === null ? null : rounded(placement.throughput),
    measuredThroughput: measured,
    throughputText: placement === null ? null : placement.throughput.toFixed(2),
    limit: placement === null ? null : { ...NO_LIMIT, ...placement.limit },
    limitText: placement === null ? waitText(conditions) : limitText(placement.limit),
    nodes: held === null ? null : [...new Set(held.map(([, node]) => node))].join(","),
    tasks:
      held?.map(([name, node]) => ({
        name,
        node,
        ...(pods.has(name) ? { pod: pods.get(name) } : {}),
        secondsPerFrame: placement!.seconds.get(name)!,
      })) ?? null,
    flows: placement?.flows.map(flowStatus) ?? null,
    profiles:
      profiles === null ? profilesOf(job) : profiles.length === 0 ? null : profiles.map(profileStatus),
    conditions: withConditions(job, told, timestamp(nowMs)),
  };
}

function profilesOf({ status }: KubernetesObject): unknown {
  return looseFields<Record<"profiles", unknown>>(status).profiles ?? null;
}

const NO_LIMIT = { task: null, node: null, source: null, target: null, capacityBitsPerSecond: null };

function flowStatus({ from, to, port, bitsPerSecond, route }: JobFlow): object {
  return {
    ...(from === null ? {} : { from }),
    to,
    ...(port === null ? {} : { port }),
    bitsPerSecond: rounded(bitsPerSecond),
    route,
  };
}

function rounded(value: number): number {
  return Number(value.toPrecision(DIGITS));
}

export function limitText(limit: JobLimit): string {
  if (limit.kind === "task") return `task ${limit.task} on ${limit.node}`;
  return limit.kind === "link" ? `link ${limit.source} -> ${limit.target}` : `source on ${limit.node}`;
}

function waitText(conditions: readonly JobCondition[]): string | null {
  const found = conditions.find(({ status }) => status === "False");
  return found === undefined ? null : `waits: ${found.reason}`;
}

const PLACED = "all tasks have nodes";
const NEXT_BEST = `${PLACED}; next best when they were chosen: `;

/** Message of condition Placed; the next leader reads the next best nodes from it. */
export function placedText(placement: Placement | null): string {
  const nextBest = placement?.nextBest ?? null;
  return nextBest === null ? PLACED : NEXT_BEST + nextBest;
}

function readNextBest(job: KubernetesObject): string | null {
  const message = conditionsOf(job).find(({ type }) => type === "Placed")?.message ?? "";
  return message.startsWith(NEXT_BEST) ? message.slice(NEXT_BEST.length) : null;
}

type StatusFields = Record<"flows" | "limit" | "tasks" | "throughput", unknown>;
type TaskFields = Record<"name" | "node" | "secondsPerFrame", unknown>;
type FlowFields = Record<"bitsPerSecond" | "from" | "port" | "route" | "to", unknown>;

export function readPlacement(job: KubernetesObject): Placement | null {
  const { status } = job;
  const { tasks, flows, throughput } = looseFields<StatusFields>(status);
  const hosts = new Map<string, string>();
  const seconds = new Map<string, number>();
  for (const task of looseList<TaskFields>(tasks)) {
    const [name, node] = [looseText(task.name), looseText(task.node)];
    if (name === "" || node === "") continue;
    hosts.set(name, node);
    if (typeof task.secondsPerFrame === "number") seconds.set(name, task.secondsPerFrame);
  }
  if (hosts.size === 0) return null;
  return {
    hosts,
    seconds,
    flows: looseList<FlowFields>(flows).map(readFlow),
    throughput: typeof throughput === "number" ? throughput : 0,
    // Recomputed by the first decision.
    limit: { kind: "source", node: "" },
    nextBest: readNextBest(job),
  };
}

function readFlow({ from, to, port, bitsPerSecond, route }: Partial<FlowFields>): JobFlow {
  return {
    from: typeof from === "string" ? from : null,
    to: looseText(to),
    port: typeof port === "number" ? port : null,
    bitsPerSecond: typeof bitsPerSecond === "number" ? bitsPerSecond : 0,
    route: Array.isArray(route) ? route.filter((node) => typeof node === "string") : [],
  };
}

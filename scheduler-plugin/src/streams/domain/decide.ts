// One decision on all stream jobs: running ones keep their nodes; waiting ones get nodes in turns of
// namespaces, longest wait first; all share the network anew.
import {
  namespaceOf as jobNamespace,
  restoredJob,
  StreamError,
  StreamSystem,
  type Change,
  type FlowNetwork,
  type JobDefinition,
  type PathTable,
  type PlacedJob,
  type StreamJob,
  type StreamStrategy,
} from "@isochrone/streams";
import { nextBestOf, placementOf, type Placement } from "./placement.ts";
import {
  plannedJob,
  type MeasuredSeconds,
  type NodeRejection,
  type StreamNode,
  type TaskRequests,
} from "./planned-job.ts";
import { inTurns } from "./turns.ts";
import { waitReason, type WaitReason } from "./wait-reason.ts";

export interface DecidedJob {
  readonly key: string;
  readonly definition: JobDefinition;
  readonly createdMs: number;
  /** Time since first sight. */
  readonly knownMs: number;
  /** Null: waiting. Tasks without a host are placed beside the others. */
  readonly placement: Placement | null;
  /** Why it isn't placed now (a recent failure); null if it may be. */
  readonly putOff: string | null;
  readonly requestsOf: (task: string) => TaskRequests;
  readonly rejection: (task: string, node: string) => NodeRejection | null;
  readonly measured: MeasuredSeconds;
  /** Highest frame rate reached on its nodes, frames/s; null if unknown. */
  readonly fastest: number | null;
}

export interface DecideInput {
  readonly network: FlowNetwork;
  readonly paths: PathTable;
  readonly nodes: readonly StreamNode[];
  readonly jobs: readonly DecidedJob[];
  readonly strategy: StreamStrategy;
  /** Changes since the last decision; null: only new jobs. */
  readonly change: Change | null;
}

export type Verdict =
  | { readonly kind: "placed"; readonly placement: Placement }
  | { readonly kind: "waiting"; readonly why: WaitReason }
  | { readonly kind: "refused"; readonly message: string };

/** A job that fits the empty cluster isn't overtaken in its namespace after this wait. */
const PATIENCE_MS = 300_000;
/** Bound on jobs tried per decision: each costs up to three searches. */
export const MOST_TRIED = 100;

interface Waiting {
  readonly decided: DecidedJob;
  readonly job: StreamJob;
}

export async function decide(input: DecideInput): Promise<Map<string, Verdict>> {
  const { strategy } = input;
  const { system, verdicts, decidedOf, waiting } = systemOf(input);
  const placedNow = await placeWaiting(waiting, system, input, verdicts);
  const change = input.change === "changed" || placedNow.size === 0 ? input.change : "placed";
  if (change !== null) system.update(await strategy.share(system, change));
  for (const placed of system.running) {
    const { key, definition, placement: before } = decidedOf.get(placed.job)!;
    const nextBest = placedNow.get(key) ?? before?.nextBest ?? null;
    verdicts.set(key, {
      kind: "placed",
      placement: { ...placementOf(placed, definition, system), nextBest },
    });
  }
  return verdicts;
}

export function systemOf({ network, paths, nodes, jobs }: Omit<DecideInput, "change" | "strategy">): {
  readonly system: StreamSystem;
  readonly verdicts: Map<string, Verdict>;
  readonly decidedOf: ReadonlyMap<StreamJob, DecidedJob>;
  readonly waiting: readonly Waiting[];
} {
  const total = {
    memoryBytes: Float64Array.from(nodes, ({ memoryBytes }) => memoryBytes),
    cpuMillicores: Float64Array.from(nodes, ({ cpuMillicores }) => cpuMillicores),
  };
  const system = new StreamSystem(network, total, paths);
  const verdicts = new Map<string, Verdict>();
  const decidedOf = new Map<StreamJob, DecidedJob>();
  const waiting: Waiting[] = [];
  for (const decided of jobs) {
    const job = readable(decided, nodes, verdicts);
    if (job === null) continue;
    decidedOf.set(job, decided);
    const running = decided.placement === null ? null : restored(decided.placement, job, system);
    if (running !== null) system.add(running);
    else waiting.push({ decided, job });
  }
  return { system, verdicts, decidedOf, waiting };
}

function readable(
  decided: DecidedJob,
  nodes: readonly StreamNode[],
  verdicts: Map<string, Verdict>,
): StreamJob | null {
  const { key, definition, placement, requestsOf, rejection, measured, fastest } = decided;
  try {
    const allows = (task: string, node: string): boolean => rejection(task, node) === null;
    return plannedJob({ definition, nodes, requestsOf, allows, measured, fastest, placement });
  } catch (error) {
    if (!(error instanceof StreamError)) throw error;
    verdicts.set(key, { kind: "refused", message: error.message });
    return null;
  }
}

/** Null if a task has no node, a node is gone, or a flow has no path. */
function restored({ hosts, flows }: Placement, job: StreamJob, system: StreamSystem): PlacedJob | null {
  const indexes = job.tasks.map(({ name }) => system.network.indexOf(hosts.get(name) ?? ""));
  if (indexes.some((index) => index === null)) return null;
  const nameOf = (task: number): string | null => job.tasks[task]?.name ?? null;
  return restoredJob(
    job,
    indexes.map((index) => index!),
    (dependency) => {
      const { source, target } = job.dependencies[dependency]!;
      return flows.find(({ from, to }) => from === nameOf(source) && to === nameOf(target)) ?? null;
    },
    system,
  );
}

async function placeWaiting(
  waiting: readonly Waiting[],
  system: StreamSystem,
  input: DecideInput,
  verdicts: Map<string, Verdict>,
): Promise<ReadonlyMap<string, string | null>> {
  const { strategy, nodes } = input;
  const placedNow = new Map<string, string | null>();
  const reserved = new Map<string, string>();
  let tried = 0;
  const wait = (key: string, why: WaitReason): void => void verdicts.set(key, { kind: "waiting", why });
  for (const { decided, job } of inTurns(waiting.toSorted(byAge), namespaceOf, jobsOf(system))) {
    const { key, knownMs, putOff } = decided;
    if (putOff !== null) {
      wait(key, { reason: "Retrying", message: putOff });
      continue;
    }
    const namespace = namespaceOf({ job });
    const before = decided.placement === null ? reserved.get(namespace) : undefined;
    if (before !== undefined) {
      wait(key, { reason: "Behind", message: `room is kept for ${before}, which waits longer` });
      continue;
    }
    if (tried++ >= MOST_TRIED) {
      wait(key, { reason: "Behind", message: `namespaces share ${MOST_TRIED} attempts at a time` });
      continue;
    }
    const placed = await strategy.place(job, system);
    if (placed !== null) {
      system.add(placed);
      placedNow.set(key, nextBestOf(placed, system));
      continue;
    }
    const { definition, rejection } = decided;
    wait(key, await waitReason({ job, definition, system, strategy, nodes, rejection }));
    if (knownMs >= PATIENCE_MS && (await fitsEmpty(decided, input, system))) reserved.set(namespace, key);
  }
  return placedNow;
}

function namespaceOf({ job }: Pick<Waiting, "job">): string {
  return jobNamespace(job);
}

function jobsOf({ running }: StreamSystem): Map<string, number> {
  const counts = new Map<string, number>();
  for (const placed of running) counts.set(namespaceOf(placed), (counts.get(namespaceOf(placed)) ?? 0) + 1);
  return counts;
}

function byAge(a: Waiting, b: Waiting): number {
  return a.decided.createdMs - b.decided.createdMs || (a.decided.key < b.decided.key ? -1 : 1);
}

async function fitsEmpty(decided: DecidedJob, input: DecideInput, system: StreamSystem): Promise<boolean> {
  const { definition, requestsOf, rejection, measured, placement } = decided;
  const job = plannedJob({
    definition,
    nodes: input.nodes,
    requestsOf,
    // Room held by other stream jobs would be free.
    allows: (task, node) => [undefined, "NodeResourcesFit"].includes(rejection(task, node)?.plugin),
    measured,
    fastest: null,
    placement,
  });
  const empty = new StreamSystem(system.network, system.total, system.paths);
  return (await input.strategy.place(job, empty)) !== null;
}

// Nodes of a new job by local search: each candidate is judged by the paces of all jobs when they share the
// network.
import type { Path } from "../paths.ts";
import { computable, demandsOf, type Demand, type PlacedJob } from "../placed-job.ts";
import type { StreamJob } from "../stream-job.ts";
import { copyOf, fits, giveBack, take, type NodeResources, type StreamSystem } from "../stream-system.ts";
import { Filling, loadOf, loadOfJob, type Load } from "./filling.ts";
import { startsOf } from "./starts.ts";
import { worthOf } from "./worth.ts";

export interface PlaceSettings {
  /** Candidates that are judged for a job. @default 600 */
  readonly evaluations: number;
  /** Nodes that a task may go to: the nearest to the source and to its other tasks. @default 64 */
  readonly candidates: number;
}

export const PLACE_DEFAULTS: PlaceSettings = { evaluations: 600, candidates: 64 };

/** Each hop costs this part of a full link, so that of equally loaded paths the shorter one is taken. */
const HOP_PRICE = 1e-3;
/** Gains of the worth that are rounding errors. */
const NO_GAIN = 1e-9;

/** A placement and what all jobs together are worth with it. */
interface Judged {
  readonly placed: PlacedJob;
  readonly worth: number;
  /** Frames per second, by running job; the new job is the last. */
  readonly paces: Float64Array;
}

/** Judges placements of one job beside others, which keep their nodes and paths. */
export class Judge {
  readonly #system: StreamSystem;
  readonly #job: StreamJob;
  readonly #settings: PlaceSettings;
  readonly #filling: Filling;
  readonly #loads: Load[];
  /** Bits per second of the other jobs at their paces, by capacity. */
  readonly #busy: Float64Array;
  readonly #own: Float64Array;
  count = 0;

  constructor(system: StreamSystem, job: StreamJob, others: readonly PlacedJob[], settings: PlaceSettings) {
    const { capacities } = system.network;
    this.#system = system;
    this.#job = job;
    this.#settings = settings;
    this.#filling = new Filling(capacities);
    this.#loads = others.map(loadOfJob);
    this.#busy = new Float64Array(capacities.length);
    for (const { links, bits } of this.#loads)
      for (let at = 0; at < links.length; at++) this.#busy[links[at]!]! += bits[at]!;
    this.#own = new Float64Array(capacities.length);
  }

  get isSpent(): boolean {
    return this.count >= this.#settings.evaluations;
  }

  /** Null when a flow has no path. */
  judge(hosts: readonly number[]): Judged | null {
    this.count++;
    const flows = this.#routed(demandsOf(this.#job, hosts));
    if (flows === null) return null;
    const most = computable(this.#job, hosts);
    if (!(most > 0)) return null;
    const loads = [...this.#loads, loadOf(flows, most, this.#job.minThroughput ?? 0)];
    const paces = this.#filling.pacesOf(loads);
    const placed: PlacedJob = {
      job: this.#job,
      hosts: [...hosts],
      computable: most,
      flows: flows.map((flow) => ({ ...flow, bitsPerSecond: 0 })),
      throughput: paces.at(-1)!,
    };
    return { placed, paces, worth: worthOf(paces) };
  }

  /**
   * The largest flows choose first, each the path whose fullest link is least full. In the order of
   * `demands`.
   */
  #routed(demands: readonly Demand[]): (Demand & { readonly path: Path })[] | null {
    this.#own.fill(0);
    const routed: (Demand & { readonly path: Path })[] = [];
    for (const demand of demands.toSorted((a, b) => b.bitsPerFrame - a.bitsPerFrame)) {
      const path = this.#bestPath(demand);
      if (path === null) return null;
      for (const hop of path.hops) this.#own[hop]! += demand.bitsPerFrame;
      routed.push({ ...demand, path });
    }
    return routed;
  }

  #bestPath({ source, target, bitsPerFrame }: Demand): Path | null {
    const { paths, network } = this.#system;
    let best: Path | null = null;
    let least = Infinity;
    for (const path of paths.choices(source, target)) {
      let fullest = 0;
      for (const hop of path.hops)
        fullest = Math.max(
          fullest,
          (this.#busy[hop]! + this.#own[hop]! + bitsPerFrame) / network.capacities[hop]!,
        );
      const price = fullest + HOP_PRICE * path.hops.length;
      if (price >= least) continue;
      least = price;
      best = path;
    }
    return best;
  }
}

/** The best nodes found for a job beside those that run; null when it has no room or no path. */
export function placeJob(job: StreamJob, system: StreamSystem, settings: PlaceSettings): Judged | null {
  const judge = new Judge(system, job, system.running, settings);
  const nodes = candidatesOf(job, system, settings.candidates);
  let best: Judged | null = null;
  for (const start of startsOf(job, system, nodes)) {
    const found = climb(judge, job, system.free, start, nodes);
    if (found !== null && (best === null || found.worth > best.worth + NO_GAIN)) best = found;
  }
  return best;
}

/** Indexes of the nodes nearest to the source, by hops. */
export function candidatesOf(job: StreamJob, { network }: StreamSystem, count: number): number[] {
  if (network.nodes.length <= count) return [...network.nodes.keys()];
  const seen = new Set([job.source]);
  for (const node of seen) {
    if (seen.size >= count) break;
    for (const { target } of network.arcsFrom(node)) if (seen.size < count) seen.add(target);
  }
  return [...seen];
}

/** A change of a placement: these tasks go to that node. */
interface Move {
  readonly tasks: readonly number[];
  readonly node: number;
}

/** From `start` the best move again and again, until none is better or the evaluations are spent. */
function climb(
  judge: Judge,
  job: StreamJob,
  free: NodeResources,
  start: readonly number[],
  nodes: readonly number[],
): Judged | null {
  const left = copyOf(free);
  take(left, job, start);
  let now = judge.judge(start);
  while (now !== null && !judge.isSpent) {
    const next = bestMove(judge, job, left, now, nodes);
    if (next === null) break;
    giveBack(left, job, now.placed.hosts);
    take(left, job, next.placed.hosts);
    now = next;
  }
  return now;
}

/** Null when no move is better. */
export function bestMove(
  judge: Judge,
  job: StreamJob,
  left: NodeResources,
  now: Judged,
  nodes: readonly number[],
): Judged | null {
  let best: Judged | null = null;
  for (const { tasks, node } of movesOf(now.placed.hosts, nodes)) {
    if (judge.isSpent) break;
    if (!fits(left, job, tasks, node)) continue;
    const hosts = now.placed.hosts.map((host, task) => (tasks.includes(task) ? node : host));
    const judged = judge.judge(hosts);
    if (judged !== null && judged.worth > (best ?? now).worth + NO_GAIN) best = judged;
  }
  return best;
}

/** Each task alone, and all tasks of a node together. */
function* movesOf(hosts: readonly number[], nodes: readonly number[]): Generator<Move> {
  for (const [task, host] of hosts.entries())
    for (const node of nodes) if (node !== host) yield { tasks: [task], node };
  for (const host of new Set(hosts)) {
    const tasks = hosts.flatMap((each, task) => (each === host ? [task] : []));
    if (tasks.length < 2) continue;
    for (const node of nodes) if (node !== host) yield { tasks, node };
  }
}

// Places a new job by local search; candidates are judged by all jobs' rates on the shared network.
import type { Path } from "../paths.ts";
import { computable, demandsOf, type Demand, type PlacedJob } from "../placed-job.ts";
import { namespaceOf, SOURCE, type StreamJob } from "../stream-job.ts";
import { copyOf, fits, giveBack, take, type NodeResources, type StreamSystem } from "../stream-system.ts";
import { ConnectedLoads } from "./connected.ts";
import { Filling, loadOf, loadOfJob } from "./filling.ts";
import type { Load } from "./namespace-shares.ts";
import { startsOf } from "./starts.ts";
import { worthOf } from "./worth.ts";

export interface PlaceSettings {
  /** Candidates judged per job. @default 600 */
  readonly evaluations: number;
  /** Candidate nodes per task: nearest to the source and its other tasks. @default 64 */
  readonly candidates: number;
}

export const PLACE_DEFAULTS: PlaceSettings = { evaluations: 600, candidates: 64 };

/** Cost of a hop as a share of a full link: prefers shorter paths at equal load. */
const HOP_PRICE = 1e-3;
/** Cost of a second per frame on stages other than the slowest. */
const STAGE_PRICE = 1e-3;
const NO_GAIN = 1e-9;

interface Judged {
  readonly placed: PlacedJob;
  /** Slightly reduced by every stage's seconds: of equally fast placements, the one with slack wins. */
  readonly worth: number;
  /** Seconds per frame of each task, or of its slowest flow if larger. */
  readonly stageSeconds: Float64Array;
  readonly paces: Float64Array;
}

export class Judge {
  readonly #system: StreamSystem;
  readonly #job: StreamJob;
  readonly #settings: PlaceSettings;
  readonly #filling: Filling;
  readonly #loads: readonly Load[];
  readonly #connected: ConnectedLoads;
  /** Rates of the others without the job, frames/s. */
  readonly #without: Float64Array;
  /** Bits per frame of the other jobs by capacity; the judged job's are in `#own`. */
  readonly #busy: Float64Array;
  readonly #own: Float64Array;
  /** The best two judged placements, on different nodes. */
  #top: readonly Judged[] = [];
  count = 0;

  constructor(system: StreamSystem, job: StreamJob, others: readonly PlacedJob[], settings: PlaceSettings) {
    const { capacities } = system.network;
    this.#system = system;
    this.#job = job;
    this.#settings = settings;
    this.#filling = new Filling(capacities);
    this.#loads = others.map(loadOfJob);
    this.#connected = new ConnectedLoads(this.#loads, capacities.length);
    this.#without = this.#filling.pacesOf(this.#loads);
    this.#busy = new Float64Array(capacities.length);
    for (const { links, bits } of this.#loads)
      for (let at = 0; at < links.length; at++) this.#busy[links[at]!]! += bits[at]!;
    this.#own = new Float64Array(capacities.length);
  }

  get isSpent(): boolean {
    return this.count >= this.#settings.evaluations;
  }

  judge(hosts: readonly number[]): Judged | null {
    this.count++;
    const flows = this.#routed(demandsOf(this.#job, hosts));
    if (flows === null) return null;
    const most = computable(this.#job, hosts);
    if (!(most > 0)) return null;
    const load = loadOf(flows, most, this.#job.minThroughput ?? 0, namespaceOf(this.#job));
    const paces = this.#connected.withAdded(load, this.#without, this.#filling);
    const placed: PlacedJob = {
      job: this.#job,
      hosts: [...hosts],
      computable: most,
      flows: flows.map((flow) => ({ ...flow, bitsPerSecond: 0 })),
      throughput: paces.at(-1)!,
    };
    const stageSeconds = this.#stagesOf(hosts, flows);
    const all = stageSeconds.reduce((sum, seconds) => sum + seconds, 0);
    const worth = worthOf(paces, [...this.#loads, load]) - STAGE_PRICE * all;
    return this.#ranked({ placed, paces, stageSeconds, worth });
  }

  besides({ placed: { hosts } }: Judged): PlacedJob | null {
    return this.#top.find(({ placed }) => !areSame(placed.hosts, hosts))?.placed ?? null;
  }

  #ranked(judged: Judged): Judged {
    const { hosts } = judged.placed;
    const others = this.#top.filter(({ placed }) => !areSame(placed.hosts, hosts));
    this.#top = [judged, ...others].sort((a, b) => b.worth - a.worth).slice(0, 2);
    return judged;
  }

  #stagesOf(hosts: readonly number[], flows: readonly (Demand & { readonly path: Path })[]): Float64Array {
    const { secondsPerFrame, dependencies } = this.#job;
    const { nodes, capacities } = this.#system.network;
    const stages = Float64Array.from(hosts, (host, task) => secondsPerFrame[task * nodes.length + host]!);
    for (const { dependency, path } of flows) {
      let seconds = 0;
      for (const hop of path.hops)
        seconds = Math.max(seconds, (this.#busy[hop]! + this.#own[hop]!) / capacities[hop]!);
      const { source, target } = dependencies[dependency]!;
      for (const task of [source, target])
        if (task !== SOURCE) stages[task] = Math.max(stages[task]!, seconds);
    }
    return stages;
  }

  /**
   * Largest flows first, each on the path with the least loaded bottleneck. Results in the order of
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

/** The best placement found; null without room or path. @param known additional starting placement */
export function placeJob(
  job: StreamJob,
  system: StreamSystem,
  settings: PlaceSettings,
  known: readonly (readonly number[])[] = [],
): Judged | null {
  const judge = new Judge(system, job, system.running, settings);
  const nodes = candidatesOf(job, system, settings.candidates);
  const starts = [...known, ...startsOf(job, system, nodes)].flatMap((hosts) => judge.judge(hosts) ?? []);
  let best: Judged | null = null;
  for (const start of starts.sort((a, b) => b.worth - a.worth)) {
    const found = climb(judge, job, system.free, start, nodes);
    if (best === null || found.worth > best.worth + NO_GAIN) best = found;
  }
  const next = best === null ? null : judge.besides(best);
  if (best === null || next === null) return best;
  const { hosts, throughput } = next;
  return { ...best, placed: { ...best.placed, nextBest: { hosts, throughput } } };
}

function areSame(hosts: readonly number[], others: readonly number[]): boolean {
  return hosts.every((host, task) => host === others[task]);
}

export function candidatesOf(job: StreamJob, { network }: StreamSystem, count: number): number[] {
  if (network.nodes.length <= count) return [...network.nodes.keys()];
  const seen = new Set([job.source]);
  for (const node of seen) {
    if (seen.size >= count) break;
    for (const { target } of network.arcsFrom(node)) if (seen.size < count) seen.add(target);
  }
  return [...seen];
}

/** Hill climbing until no move is better or the evaluations are spent. */
function climb(
  judge: Judge,
  job: StreamJob,
  free: NodeResources,
  start: Judged,
  nodes: readonly number[],
): Judged {
  const left = copyOf(free);
  take(left, job, start.placed.hosts);
  let now = start;
  while (!judge.isSpent) {
    const next = betterMove(judge, job, left, now, nodes);
    if (next === null) break;
    giveBack(left, job, now.placed.hosts);
    take(left, job, next.placed.hosts);
    now = next;
  }
  return now;
}

/**
 * The best node for the slowest movable, if better; else for the next. On large networks a sweep over all
 * moves exceeds the evaluations. Null if no move is better.
 * @param movable groups of tasks.
 * @default those of each node, and each alone; slowest first
 */
export function betterMove(
  judge: Judge,
  job: StreamJob,
  left: NodeResources,
  now: Judged,
  nodes: readonly number[],
  movable: readonly number[][] = movableOf(now),
): Judged | null {
  const { hosts } = now.placed;
  for (const tasks of movable) {
    let best: Judged | null = null;
    for (const node of nodes) {
      if (judge.isSpent) break;
      if (node === hosts[tasks[0]!] || !fits(left, job, tasks, node)) continue;
      const judged = judge.judge(hosts.map((host, task) => (tasks.includes(task) ? node : host)));
      if (judged !== null && judged.worth > (best ?? now).worth + NO_GAIN) best = judged;
    }
    if (best !== null) return best;
  }
  return null;
}

/** Groups of tasks that may move: all of a node, and each alone. Slowest stages first. */
function movableOf({ placed: { hosts }, stageSeconds }: Judged): number[][] {
  const slowest = [...hosts.keys()].sort((a, b) => stageSeconds[b]! - stageSeconds[a]!);
  const movable: number[][] = [];
  const seen = new Set<number>();
  for (const task of slowest) {
    const host = hosts[task]!;
    const together = hosts.flatMap((each, other) => (each === host ? [other] : []));
    if (!seen.has(host) && together.length > 1) movable.push(together);
    seen.add(host);
    movable.push([task]);
  }
  return movable;
}

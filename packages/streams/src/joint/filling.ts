// Rates by job: all flows of a job follow its slowest stage (Varys' MADD), and all jobs' rates grow equally
// until a link is full or a job reaches its compute limit (progressive filling, Bertsekas 1992, section
// 6.5.2).
import { atPace, type PlacedJob } from "../placed-job.ts";
import type { Path } from "../paths.ts";
import { namespaceOf } from "../stream-job.ts";
import type { StreamSystem } from "../stream-system.ts";
import { sharesOf, type Load } from "./namespace-shares.ts";

/** Remaining shares of a capacity below this count as zero. */
const FULL = 1e-9;

export function loadOf(
  flows: readonly { readonly path: Path; readonly bitsPerFrame: number }[],
  most: number,
  least: number,
  namespace: string,
): Load {
  const bits = new Map<number, number>();
  for (const { path, bitsPerFrame } of flows)
    for (const hop of path.hops) bits.set(hop, (bits.get(hop) ?? 0) + bitsPerFrame);
  return {
    links: Int32Array.from(bits.keys()),
    bits: Float64Array.from(bits.values()),
    most,
    least: Math.min(least, most),
    namespace,
  };
}

export function loadOfJob({ flows, computable, job }: PlacedJob): Load {
  return loadOf(flows, computable, job.minThroughput ?? 0, namespaceOf(job));
}

export class Filling {
  readonly #whole: Float64Array;
  /** Capacities for one namespace; only its links are up to date. */
  readonly #slice: Float64Array;
  /** Capacities being filled: of all, or of one namespace. */
  #capacities: Float64Array;
  readonly #left: Float64Array;
  readonly #weights: Float64Array;
  readonly #isUsed: Uint8Array;
  #used: number[] = [];

  constructor(capacities: Float64Array) {
    this.#whole = this.#capacities = capacities;
    this.#slice = new Float64Array(capacities.length);
    this.#left = new Float64Array(capacities.length);
    this.#weights = new Float64Array(capacities.length);
    this.#isUsed = new Uint8Array(capacities.length);
  }

  /**
   * Frames per second by job, as in `#fill` within one namespace. Several namespaces first fill their shares
   * (`sharesOf`); the rest goes to unmet promises, then to all.
   */
  pacesOf(loads: readonly Load[]): Float64Array {
    const shares = sharesOf(loads, this.#whole);
    if (shares === null) return this.#fill(loads, this.#whole);
    const own = new Float64Array(loads.length);
    for (const [namespace, indexes] of Map.groupBy(loads.keys(), (at) => loads[at]!.namespace)) {
      for (const [link, share] of shares.get(namespace) ?? []) this.#slice[link] = share;
      const filled = this.#fill(
        indexes.map((at) => loads[at]!),
        this.#slice,
      );
      for (const [index, at] of indexes.entries()) own[at] = filled[index]!;
    }
    const promised = loads.map((load, at) => ({
      ...load,
      least: own[at]!,
      most: Math.max(own[at]!, load.least),
    }));
    const kept = promised.every(({ least, most }) => least >= most) ? own : this.#fill(promised, this.#whole);
    return this.#fill(
      loads.map((load, at) => ({ ...load, least: kept[at]! })),
      this.#whole,
    );
  }

  /**
   * Promises come first; if they do not fit, all are scaled by one factor. The result is max-min fair: no
   * rate can grow without lowering one that is not larger.
   */
  #fill(loads: readonly Load[], capacities: Float64Array): Float64Array {
    this.#capacities = capacities;
    const paces = new Float64Array(loads.length);
    this.#begin(loads);
    const factor = this.#keepPromises(loads, paces);
    const least = (at: number): number => loads[at]!.least * factor;
    const waiting = [...loads.keys()].sort((a, b) => least(a) - least(b));
    let next = 0;
    let open: number[] = [];
    let level = 0;
    // Only joining jobs and newly full links can stop jobs below their maximum.
    let mayBeStuck = true;
    for (;;) {
      const joining = next;
      for (; next < waiting.length && least(waiting[next]!) <= level * (1 + FULL); next++) {
        const at = waiting[next]!;
        open.push(at);
        this.#weigh(loads[at]!, 1);
      }
      open = this.#close(open, loads, level, paces, mayBeStuck || next > joining);
      if (open.length === 0 && next === waiting.length) return paces;
      const upcoming = next < waiting.length ? least(waiting[next]!) : Infinity;
      const step = this.#step(open, loads, level, upcoming);
      mayBeStuck = open.length > 0 && this.#lower(step);
      level += step;
    }
  }

  #begin(loads: readonly Load[]): void {
    for (const link of this.#used) this.#isUsed[link] = 0;
    const used: number[] = [];
    for (const { links } of loads)
      for (const link of links) {
        if (this.#isUsed[link] === 1) continue;
        this.#isUsed[link] = 1;
        used.push(link);
        this.#left[link] = this.#capacities[link]!;
        this.#weights[link] = 0;
      }
    this.#used = used;
  }

  /** Grants promises. Returns their scaling factor, 1 if they fit. */
  #keepPromises(loads: readonly Load[], paces: Float64Array): number {
    if (loads.every(({ least }) => least === 0)) return 1;
    const promised = new Float64Array(this.#left.length);
    for (const { links, bits, least } of loads)
      for (let at = 0; at < links.length; at++) promised[links[at]!]! += bits[at]! * least;
    let factor = 1;
    for (const link of this.#used)
      if (promised[link]! > this.#left[link]!) factor = Math.min(factor, this.#left[link]! / promised[link]!);
    for (const link of this.#used)
      this.#left[link] = Math.max(0, this.#left[link]! - factor * promised[link]!);
    for (const [at, { least }] of loads.entries()) paces[at] = factor * least;
    return factor;
  }

  #weigh({ links, bits }: Load, sign: 1 | -1): void {
    for (let at = 0; at < links.length; at++) this.#weights[links[at]!]! += sign * bits[at]!;
  }

  #close(
    open: number[],
    loads: readonly Load[],
    level: number,
    paces: Float64Array,
    mayBeStuck: boolean,
  ): number[] {
    const still: number[] = [];
    for (const at of open) {
      const load = loads[at]!;
      if (level < load.most * (1 - FULL) && !(mayBeStuck && this.#isStuck(load))) {
        still.push(at);
        continue;
      }
      paces[at] = Math.max(paces[at]!, Math.min(level, load.most));
      this.#weigh(load, -1);
    }
    return still;
  }

  #isStuck({ links }: Load): boolean {
    for (let at = 0; at < links.length; at++) {
      const link = links[at]!;
      if (this.#left[link]! <= FULL * this.#capacities[link]!) return true;
    }
    return false;
  }

  /** Possible increase of all open jobs, frames/s, until one stops or joins. */
  #step(open: readonly number[], loads: readonly Load[], level: number, upcoming: number): number {
    let step = upcoming - level;
    for (const at of open) step = Math.min(step, loads[at]!.most - level);
    if (open.length === 0) return step;
    for (const link of this.#used) {
      const weight = this.#weights[link]!;
      if (weight > FULL && this.#left[link]! < step * weight) step = this.#left[link]! / weight;
    }
    return Math.max(0, step);
  }

  #lower(step: number): boolean {
    let isAnyFull = false;
    for (const link of this.#used) {
      const weight = this.#weights[link]!;
      if (weight <= FULL) continue;
      const left = Math.max(0, this.#left[link]! - step * weight);
      this.#left[link] = left;
      if (left <= FULL * this.#capacities[link]!) isAnyFull = true;
    }
    return isAnyFull;
  }
}

export function fillByJob(running: readonly PlacedJob[], { network }: StreamSystem): readonly PlacedJob[] {
  const paces = new Filling(network.capacities).pacesOf(running.map(loadOfJob));
  return running.map((placed, at) => atPace(placed, paces[at]!));
}

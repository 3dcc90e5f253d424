// Figures of the network as a whole. Pure; the worker computes them.
import type { ClusterNode } from "@isochrone/topology";
import { PAIR, rowOf, type ClusterView } from "../model/cluster-view.ts";

/** What the page says of a graph in words and tables. */
export interface Digest {
  readonly summary: Summary;
  readonly worst: readonly WorstPair[];
  /** The first nodes. */
  readonly head: readonly ClusterNode[];
}

export interface WorstPair {
  readonly source: string;
  readonly target: string;
  /** No answer at all. */
  readonly isDead: boolean;
  /** Unknown figures are NaN. */
  readonly p50: number;
  readonly p99: number;
  readonly lossRatio: number;
}

const WORST = 15;
const HEAD = 50;

export interface Summary {
  readonly medianMs: number;
  readonly worstMs: number;
  /** Pairs that were measured in the window, and their share of all ordered pairs. */
  readonly pairs: number;
  readonly coverage: number;
  /** Pairs without an answer, with losses, with old figures. */
  readonly dead: number;
  readonly lossy: number;
  readonly stale: number;
}

const LOSSY = 0.001;

export function digestOf(view: ClusterView): Digest {
  const { nodes, pairs } = view;
  const { p50, p99, lossRatio } = pairs.figures;
  return {
    summary: summaryOf(view),
    worst: worstPairs(view, WORST).map((at) => ({
      source: nodes[rowOf(pairs, at)]!.name,
      target: nodes[pairs.column[at]!]!.name,
      isDead: (pairs.flags[at]! & PAIR.dead) !== 0,
      p50: p50[at]!,
      p99: p99[at]!,
      lossRatio: lossRatio[at]!,
    })),
    head: nodes.slice(0, HEAD),
  };
}

export function summaryOf({ pairs, nodes }: ClusterView): Summary {
  const { p50, lossRatio } = pairs.figures;
  let [dead, lossy, stale] = [0, 0, 0];
  for (const [at, flags] of pairs.flags.entries()) {
    if ((flags & PAIR.dead) !== 0) dead++;
    else if (lossRatio[at]! > LOSSY) lossy++;
    if ((flags & PAIR.stale) !== 0) stale++;
  }
  const known = p50.filter((ms) => !Number.isNaN(ms)).sort();
  const all = nodes.length * (nodes.length - 1);
  return {
    medianMs: known.length === 0 ? Number.NaN : known[known.length >> 1]!,
    worstMs: known.at(-1) ?? Number.NaN,
    pairs: known.length,
    coverage: all === 0 ? Number.NaN : known.length / all,
    dead,
    lossy,
    stale,
  };
}

/** Positions of the worst pairs: without an answer first, then the slowest. */
export function worstPairs({ pairs }: ClusterView, most: number): number[] {
  const badness = (at: number): number =>
    (pairs.flags[at]! & PAIR.dead) !== 0 ? Number.POSITIVE_INFINITY : pairs.figures.p50[at]!;
  const worst: number[] = [];
  for (let at = 0; at < pairs.column.length; at++) {
    const value = badness(at);
    if (Number.isNaN(value)) continue;
    if (worst.length === most && value <= badness(worst.at(-1)!)) continue;
    let place = worst.length;
    while (place > 0 && badness(worst[place - 1]!) < value) place--;
    worst.splice(place, 0, at);
    if (worst.length > most) worst.pop();
  }
  return worst;
}

// Figures of the network as a whole. Pure.
import { PAIR, type ClusterView } from "../model/cluster-view.ts";

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

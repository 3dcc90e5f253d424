import { upperMedian } from "@isochrone/primitives";
import type { ClusterNode } from "@isochrone/topology";
import { findPair, isDown, PAIR, rowOf, type ClusterView } from "./cluster-view.ts";

export interface Digest {
  readonly summary: Summary;
  readonly worst: readonly WorstPair[];
  readonly head: readonly ClusterNode[];
}

/** Two nodes, in the worse direction. Unknown figures are NaN. */
export interface WorstPair {
  readonly source: string;
  readonly target: string;
  readonly isDead: boolean;
  readonly isBackDead: boolean;
  readonly p50: number;
  readonly backP50: number;
  readonly p99: number;
  readonly lossRatio: number;
}

const WORST = 15;
const HEAD = 50;

export interface Summary {
  readonly medianMs: number;
  readonly worstMs: number;
  /** Pairs measured in the window, and their share of all ordered pairs of up nodes. */
  readonly pairs: number;
  readonly coverage: number;
  /** Node pairs without answers, with losses, or with stale figures in some direction. */
  readonly dead: number;
  readonly lossy: number;
  readonly stale: number;
  /** Null: no pair loses packets. */
  readonly lossiest: { readonly source: string; readonly target: string; readonly ratio: number } | null;
}

const LOSSY = 0.001;

export function digestOf(view: ClusterView): Digest {
  return { summary: summaryOf(view), worst: worstPairs(view), head: view.nodes.slice(0, HEAD) };
}

/** Dead pairs first, then the slowest. @param isWanted filters nodes by row */
export function worstPairs(view: ClusterView, isWanted: (row: number) => boolean = () => true): WorstPair[] {
  const { nodes, pairs } = view;
  return worstPositions(view, WORST, isWanted).map((at): WorstPair => {
    const row = rowOf(pairs, at);
    const back = findPair(pairs, pairs.column[at]!, row);
    const higher = (name: "p99" | "lossRatio"): number =>
      [at, back].reduce((most, each) => {
        const value = pairs.figures[name][each] ?? Number.NaN;
        return value > most || Number.isNaN(most) ? value : most;
      }, Number.NaN);
    return {
      source: nodes[row]!.name,
      target: nodes[pairs.column[at]!]!.name,
      isDead: isDeadAt(view, at),
      isBackDead: isDeadAt(view, back),
      p50: pairs.figures.p50[at]!,
      backP50: pairs.figures.p50[back] ?? Number.NaN,
      p99: higher("p99"),
      lossRatio: higher("lossRatio"),
    };
  });
}

const isDeadAt = ({ pairs }: ClusterView, at: number): boolean => ((pairs.flags[at] ?? 0) & PAIR.dead) !== 0;

export function summaryOf({ pairs, nodes }: ClusterView): Summary {
  const { p50, lossRatio } = pairs.figures;
  const [dead, lossy, stale] = [new Set<number>(), new Set<number>(), new Set<number>()];
  let lossiest: Summary["lossiest"] = null;
  for (let row = 0; row < nodes.length; row++)
    for (let at = pairs.rowStart[row]!; at < pairs.rowStart[row + 1]!; at++) {
      const flags = pairs.flags[at]!;
      const column = pairs.column[at]!;
      const key = Math.min(row, column) * nodes.length + Math.max(row, column);
      if ((flags & PAIR.dead) !== 0) dead.add(key);
      else if (lossRatio[at]! > LOSSY) {
        lossy.add(key);
        const ratio = lossRatio[at]!;
        if (lossiest === null || ratio > lossiest.ratio)
          lossiest = { source: nodes[row]!.name, target: nodes[column]!.name, ratio };
      }
      if ((flags & PAIR.stale) !== 0) stale.add(key);
    }
  const known = p50.filter((ms) => !Number.isNaN(ms)).sort();
  const up = nodes.filter((node) => !isDown(node)).length;
  const all = up * (up - 1);
  return {
    medianMs: upperMedian(known) ?? Number.NaN,
    worstMs: known.at(-1) ?? Number.NaN,
    pairs: known.length,
    coverage: all === 0 ? Number.NaN : known.length / all,
    dead: dead.size,
    lossy: [...lossy].filter((key) => !dead.has(key)).length,
    stale: stale.size,
    lossiest,
  };
}

function worstPositions(
  view: ClusterView,
  most: number,
  isWanted: (row: number) => boolean,
): readonly number[] {
  const { pairs } = view;
  const badness = (at: number): number =>
    isDeadAt(view, at) ? Number.POSITIVE_INFINITY : (pairs.figures.p50[at] ?? Number.NaN);
  const worst: number[] = [];
  for (let row = 0; row + 1 < pairs.rowStart.length; row++)
    for (let at = pairs.rowStart[row]!; at < pairs.rowStart[row + 1]!; at++) {
      const value = badness(at);
      const column = pairs.column[at]!;
      if (Number.isNaN(value) || !(isWanted(row) || isWanted(column))) continue;
      if (worst.length === most && value <= badness(worst.at(-1)!)) continue;
      const back = badness(findPair(pairs, column, row));
      if (back > value || (back === value && column < row)) continue;
      let place = worst.length;
      while (place > 0 && badness(worst[place - 1]!) < value) place--;
      worst.splice(place, 0, at);
      if (worst.length > most) worst.pop();
    }
  return worst;
}

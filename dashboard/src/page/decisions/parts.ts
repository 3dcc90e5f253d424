// Bars of a decision's candidates. Parts have different units, from bytes times milliseconds to points of a
// hundred, so a bar ranks candidates within each part. Pure.
import type { Candidate } from "@isochrone/topology";

interface Segment {
  readonly part: string;
  readonly share: number;
  /** In the part's own unit. */
  readonly value: number;
}

interface Bar {
  readonly candidate: Candidate;
  readonly segments: readonly Segment[];
}

const INNER: Readonly<Record<string, readonly string[]>> = { resource: ["cpu", "memory"] };

export function partsOf(candidates: readonly Candidate[]): string[] {
  const names = [...new Set(candidates.flatMap(({ parts }) => Object.keys(parts)))];
  const hidden = new Set(names.flatMap((name) => INNER[name] ?? []));
  return names.filter((name) => !hidden.has(name) && candidates.some(({ parts }) => isFigure(parts[name])));
}

/**
 * Best first. In each part the best candidate has a full segment and the worst none; equal candidates all
 * have full ones.
 */
export function barsOf(candidates: readonly Candidate[]): Bar[] {
  const names = partsOf(candidates);
  const spans = new Map(names.map((name) => [name, spanOf(candidates, name)]));
  return [...candidates]
    .sort(
      (a, b) => Number(b.feasible) - Number(a.feasible) || b.score - a.score || (a.name < b.name ? -1 : 1),
    )
    .map((candidate) => ({
      candidate,
      segments: names.flatMap((part) => {
        const value = candidate.parts[part];
        if (!isFigure(value) || !candidate.feasible) return [];
        const { low, high } = spans.get(part)!;
        const good = isAlike(low, high) ? 1 : (value - low) / (high - low);
        return [{ part, share: good / names.length, value }];
      }),
    }));
}

/** Relative differences below this are insignificant and drawn as equal. */
const ALIKE = 0.01;
const isAlike = (low: number, high: number): boolean =>
  high - low <= ALIKE * Math.max(Math.abs(low), Math.abs(high));

const isFigure = (value: number | null | undefined): value is number =>
  value !== null && value !== undefined && Number.isFinite(value);

function spanOf(
  candidates: readonly Candidate[],
  name: string,
): { readonly low: number; readonly high: number } {
  const values = candidates.flatMap(({ parts, feasible }) => {
    const value = parts[name];
    return feasible && isFigure(value) ? [value] : [];
  });
  return { low: Math.min(...values), high: Math.max(...values) };
}

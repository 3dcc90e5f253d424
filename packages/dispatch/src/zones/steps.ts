// Moves current weights gradually towards wanted ones: rates are noisy, and a sudden increase may overload a
// zone before its replicas follow.
import type { ZoneWeights } from "./zone-weights.ts";

const MAX_STEP = 0.1;
const HYSTERESIS = 0.05;

/** Next weights of the zones of `wanted`. Shares of zones without endpoints move at once. */
export function nextWeights(
  current: ZoneWeights,
  wanted: ZoneWeights,
): { readonly weights: ZoneWeights; readonly changed: boolean } {
  const now = new Map(
    Array.from(wanted, ([zone, targets]) => [zone, carriedOver(current.get(zone), targets)]),
  );
  const isForced = [...wanted].some(([zone, targets]) => !isCovered(current.get(zone), targets));
  const apart = Math.max(0, ...Array.from(wanted, ([zone, targets]) => distance(now.get(zone)!, targets)));
  if (apart < HYSTERESIS) return { weights: now, changed: isForced };
  const weights = new Map(
    Array.from(wanted, ([zone, targets]) => {
      const from = now.get(zone)!;
      const part = Math.min(1, MAX_STEP / Math.max(distance(from, targets), Number.EPSILON));
      return [zone, new Map(Array.from(targets, ([to, share]) => [to, mixed(from.get(to)!, share, part)]))];
    }),
  );
  return { weights, changed: true };
}

function mixed(from: number, to: number, part: number): number {
  return part === 1 ? to : from + (to - from) * part;
}

function carriedOver(
  current: ReadonlyMap<string, number> | undefined,
  targets: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const shares = new Map(Array.from(targets, ([zone]) => [zone, current?.get(zone) ?? 0]));
  let total = 0;
  for (const share of shares.values()) total += share;
  if (!(total > 0)) return targets;
  return new Map(Array.from(shares, ([zone, share]) => [zone, share / total]));
}

function isCovered(
  current: ReadonlyMap<string, number> | undefined,
  targets: ReadonlyMap<string, number>,
): boolean {
  return current !== undefined && [...current].every(([zone, share]) => share === 0 || targets.has(zone));
}

function distance(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): number {
  let moved = 0;
  for (const [zone, share] of b) moved += Math.max(0, share - (a.get(zone) ?? 0));
  return moved;
}

// From the weights that are to those that are wanted, slowly: rates are noisy, and a zone that gets much more
// at once may fail before its replicas follow.
import type { ZoneWeights } from "./zone-weights.ts";

/** No zone's requests move by more than so much of them at once. */
const MAX_STEP = 0.1;
/** What differs by less stays: it is noise. */
const HYSTERESIS = 0.05;

/**
 * The next weights, and whether they are others than before. Zones are those of `wanted`; shares for zones
 * that have no endpoints any more go to the others at once.
 */
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

/** The shares of before over the targets of now, adding up to 1; those of now where there were none. */
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

/** Whether all that the zone sends goes to zones that still have endpoints. */
function isCovered(
  current: ReadonlyMap<string, number> | undefined,
  targets: ReadonlyMap<string, number>,
): boolean {
  return current !== undefined && [...current].every(([zone, share]) => share === 0 || targets.has(zone));
}

/** How much of the requests would go elsewhere, 0 to 1. */
function distance(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): number {
  let moved = 0;
  for (const [zone, share] of b) moved += Math.max(0, share - (a.get(zone) ?? 0));
  return moved;
}

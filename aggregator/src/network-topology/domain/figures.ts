import { compareText } from "../../domain/compare.ts";
import { AREA_KINDS, areaKey, areaPairOf, type AreaKind, type AreaPair } from "./areas.ts";
import { stickyBandwidth, stickyCost } from "./sticky.ts";

/** What is written of one pair of areas. */
export interface AreaFigures {
  readonly networkCost: number;
  /** Bits per second; null: not known. */
  readonly capacity: number | null;
  /** Bits per second; null: not known (yet). */
  readonly allocated: bigint | null;
}

/** What figures are made of, by area pair. */
interface FigureInputs {
  readonly costsMs: ReadonlyMap<string, number>;
  readonly capacities: ReadonlyMap<string, number>;
  /** Null: not known (yet). */
  readonly allocated: ReadonlyMap<string, bigint> | null;
  /** As the object has them. */
  readonly written: ReadonlyMap<string, AreaFigures>;
  /** Milliseconds that one unit of cost stands for. */
  readonly unitMs: number;
  /** Share by which a capacity may differ from what is written before it is written anew. */
  readonly capacityTolerance: number;
  /** Whether a written pair that is not measured now is to stay. */
  readonly isHeld: (key: string) => boolean;
}

/**
 * What the object should say. Pairs of unknown cost are left out: a cost is required of each entry, and it is
 * never made up.
 */
export function nextFigures(inputs: FigureInputs): Map<string, AreaFigures> {
  const { costsMs, written, unitMs, isHeld } = inputs;
  const next = new Map<string, AreaFigures>();
  for (const [key, p90Ms] of costsMs) {
    const networkCost = stickyCost(written.get(key)?.networkCost ?? null, p90Ms, unitMs);
    next.set(key, { networkCost, ...bandwidthOf(key, inputs) });
  }
  for (const [key, { networkCost }] of written) {
    if (!next.has(key) && isHeld(key)) next.set(key, { networkCost, ...bandwidthOf(key, inputs) });
  }
  return next;
}

/**
 * As many kinds of areas, in their order, as have no more pairs than `maxPairs` together: an object of many
 * thousand pairs is beyond what etcd takes, and segments alone can be that many.
 */
export function withinLimit(
  figures: ReadonlyMap<string, AreaFigures>,
  maxPairs: number,
): { readonly figures: Map<string, AreaFigures>; readonly leftOut: readonly AreaKind[] } {
  if (figures.size <= maxPairs) return { figures: new Map(figures), leftOut: [] };
  const byKind = Map.groupBy(figures, ([key]) => areaPairOf(key).kind);
  const kept = new Map<string, AreaFigures>();
  const leftOut: AreaKind[] = [];
  for (const kind of AREA_KINDS) {
    const ofKind = byKind.get(kind) ?? [];
    if (kept.size + ofKind.length > maxPairs) leftOut.push(kind);
    else for (const [key, value] of ofKind) kept.set(key, value);
  }
  return { figures: kept, leftOut };
}

function bandwidthOf(
  key: string,
  { capacities, allocated, written, capacityTolerance }: FigureInputs,
): Pick<AreaFigures, "capacity" | "allocated"> {
  const before = written.get(key);
  const capacity = capacities.get(key) ?? null;
  return {
    // A test that is too old to show says nothing against what it showed.
    capacity:
      capacity === null
        ? (before?.capacity ?? null)
        : stickyBandwidth(before?.capacity ?? null, capacity, capacityTolerance),
    allocated: allocated === null ? (before?.allocated ?? null) : (allocated.get(key) ?? 0n),
  };
}

export function sameFigures(
  a: ReadonlyMap<string, AreaFigures>,
  b: ReadonlyMap<string, AreaFigures>,
): boolean {
  if (a.size !== b.size) return false;
  for (const [key, figures] of a) {
    const other = b.get(key);
    if (
      other === undefined ||
      other.networkCost !== figures.networkCost ||
      other.capacity !== figures.capacity ||
      other.allocated !== figures.allocated
    )
      return false;
  }
  return true;
}

/** In the order of the object: by kind, origin and destination. */
export function compareAreaPairs(a: AreaPair, b: AreaPair): number {
  return (
    AREA_KINDS.indexOf(a.kind) - AREA_KINDS.indexOf(b.kind) ||
    compareText(a.origin, b.origin) ||
    compareText(a.destination, b.destination)
  );
}

/** One text of all figures, the same for the same figures: to tell whether somebody else has changed them. */
export function figuresText(figures: Iterable<readonly [AreaPair, AreaFigures]>): string {
  return [...figures]
    .sort(([a], [b]) => compareAreaPairs(a, b))
    .map(([pair, { networkCost, capacity, allocated }]) =>
      [areaKey(pair), networkCost, capacity ?? "", allocated ?? ""].join("\n"),
    )
    .join("\n\n");
}

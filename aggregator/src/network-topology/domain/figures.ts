import { compareText } from "../../domain/compare.ts";
import { AREA_KINDS, areaKey, areaPairOf, type AreaKind, type AreaPair } from "./areas.ts";
import { stickyBandwidth, stickyCost } from "./sticky.ts";

export interface AreaFigures {
  readonly networkCost: number;
  /** Bits per second; null: unknown. */
  readonly capacity: number | null;
  readonly allocated: bigint | null;
}

interface FigureInputs {
  readonly costsMs: ReadonlyMap<string, number>;
  readonly capacities: ReadonlyMap<string, number>;
  readonly allocated: ReadonlyMap<string, bigint> | null;
  readonly written: ReadonlyMap<string, AreaFigures>;
  readonly unitMs: number;
  readonly capacityTolerance: number;
  /** Returns true if a written but unmeasured pair should stay. */
  readonly isHeld: (key: string) => boolean;
}

/** Computes the object's next values. Omits pairs of unknown cost, because each entry requires one. */
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

/** Keeps area kinds in order while their pairs fit into `maxPairs`, because etcd limits the size. */
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
    // An expired test does not invalidate its result.
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

export function compareAreaPairs(a: AreaPair, b: AreaPair): number {
  return (
    AREA_KINDS.indexOf(a.kind) - AREA_KINDS.indexOf(b.kind) ||
    compareText(a.origin, b.origin) ||
    compareText(a.destination, b.destination)
  );
}

/** Canonical text of all figures, to detect foreign changes. */
export function figuresText(figures: Iterable<readonly [AreaPair, AreaFigures]>): string {
  return [...figures]
    .sort(([a], [b]) => compareAreaPairs(a, b))
    .map(([pair, { networkCost, capacity, allocated }]) =>
      [areaKey(pair), networkCost, capacity ?? "", allocated ?? ""].join("\n"),
    )
    .join("\n\n");
}

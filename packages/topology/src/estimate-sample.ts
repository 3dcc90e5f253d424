import { median, seeded } from "@isochrone/primitives";

type EstimateMs = (from: number, to: number) => number | null;

/** Sample size: its median lies within two percentiles of the true one. */
const MAX_PAIRS = 4_096;
/** Sampled nodes per area, which gives 64 pairs for two areas. */
const MAX_MEMBERS = 8;
/** Fixed seed, for reproducible samples. */
const SEED = 1;

export function sampleEstimates(nodeCount: number, estimateMs: EstimateMs): number[] {
  const found: number[] = [];
  const take = (from: number, to: number): void => {
    const ms = estimateMs(from, to);
    if (ms !== null) found.push(ms);
  };
  if ((nodeCount * (nodeCount - 1)) / 2 <= MAX_PAIRS) {
    for (let from = 0; from < nodeCount; from++) for (let to = from + 1; to < nodeCount; to++) take(from, to);
    return found;
  }
  const draw = seeded(SEED);
  for (let pair = 0; pair < MAX_PAIRS; pair++) {
    const from = Math.floor(draw() * nodeCount);
    const to = (from + 1 + Math.floor(draw() * (nodeCount - 1))) % nodeCount;
    take(from, to);
  }
  return found;
}

/** Lazy medians of estimates between zones or regions. */
export class AreaEstimates {
  readonly #areaOf: (id: number) => string | null;
  readonly #members: ReadonlyMap<string, readonly number[]>;
  readonly #estimateMs: EstimateMs;
  readonly #kept = new Map<string, number | null>();

  constructor(nodeCount: number, areaOf: (id: number) => string | null, estimateMs: EstimateMs) {
    this.#areaOf = areaOf;
    this.#estimateMs = estimateMs;
    const members = new Map<string, number[]>();
    for (let id = 0; id < nodeCount; id++) {
      const area = areaOf(id);
      if (area === null) continue;
      const ids = members.get(area);
      if (ids === undefined) members.set(area, [id]);
      else ids.push(id);
    }
    this.#members = new Map([...members].map(([area, ids]) => [area, spread(ids)]));
  }

  /** Milliseconds by node ids. Null: unknown area, or no estimate. */
  between(a: number, b: number): number | null {
    const from = this.#areaOf(a);
    const to = this.#areaOf(b);
    if (from === null || to === null) return null;
    const key = JSON.stringify([from, to]);
    let ms = this.#kept.get(key);
    if (ms === undefined) this.#kept.set(key, (ms = this.#median(from, to)));
    return ms;
  }

  #median(from: string, to: string): number | null {
    const found: number[] = [];
    for (const source of this.#members.get(from)!) {
      for (const target of this.#members.get(to)!) {
        const ms = source === target ? null : this.#estimateMs(source, target);
        if (ms !== null) found.push(ms);
      }
    }
    return median(found);
  }
}

function spread(ids: readonly number[]): readonly number[] {
  if (ids.length <= MAX_MEMBERS) return ids;
  return Array.from(
    { length: MAX_MEMBERS },
    (_, index) => ids[Math.floor((index * ids.length) / MAX_MEMBERS)]!,
  );
}

import type { Metric } from "@isochrone/telemetry";

export interface Counted {
  readonly attributes: Readonly<Record<string, string>>;
  bytes: number;
}

const MAX_SERIES = 20_000;
/** How long a silent series is published as 0; otherwise its channel would keep its last rate. */
const REMEMBERED_MS = 300_000;

export class ToldSeries {
  readonly #name: string;
  readonly #told = new Map<string, { readonly attributes: Counted["attributes"]; toldMs: number }>();

  constructor(name: string) {
    this.#name = name;
  }

  metricOf(
    all: readonly Counted[],
    startMs: number,
    nowMs: number,
  ): { readonly metric: Metric | null; readonly leftOutBytes: number } {
    const kept = all.length <= MAX_SERIES ? all : largest(all);
    const points = [...kept, ...this.#silent(kept, nowMs)];
    const metric: Metric = {
      name: this.#name,
      unit: "By",
      kind: "sum",
      temporality: "delta",
      monotonic: true,
      points: points.map(({ attributes, bytes }) => ({ attributes, startMs, timeMs: nowMs, value: bytes })),
    };
    return { metric: points.length === 0 ? null : metric, leftOutBytes: sum(all) - sum(kept) };
  }

  #silent(speaking: readonly Counted[], nowMs: number): Counted[] {
    for (const { attributes } of speaking) this.#told.set(keyOf(attributes), { attributes, toldMs: nowMs });
    const silent: Counted[] = [];
    for (const [key, { attributes, toldMs }] of this.#told) {
      if (nowMs - toldMs > REMEMBERED_MS) this.#told.delete(key);
      else if (toldMs !== nowMs) silent.push({ attributes, bytes: 0 });
    }
    return silent;
  }
}

function keyOf(attributes: Counted["attributes"]): string {
  return Object.values(attributes).join(" ");
}

function sum(series: readonly Counted[]): number {
  return series.reduce((total, { bytes }) => total + bytes, 0);
}

function largest(series: readonly Counted[]): Counted[] {
  return series.toSorted((a, b) => b.bytes - a.bytes).slice(0, MAX_SERIES);
}

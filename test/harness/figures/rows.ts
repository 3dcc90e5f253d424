import type { Attributes, Metric } from "@isochrone/telemetry";
import type { Life } from "./draw.ts";

export type Labels = Readonly<Record<string, string>>;

interface Histogram {
  readonly count: number;
  readonly sum: number;
  /** Cumulative, by upper bound. */
  readonly buckets: readonly (readonly [number, number])[];
}

export interface Row {
  readonly family: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: Labels;
  readonly value: number | Histogram;
  /** Time of the sample, if not that of the page. */
  readonly timeMs?: number;
  /** Start time of the counter, if the source reports it. */
  readonly startMs?: number;
}

export const counter = (family: string, labels: Labels, value: number, more: Partial<Row> = {}): Row => ({
  family,
  type: "counter",
  labels,
  value,
  ...more,
});

export const gauge = (family: string, labels: Labels, value: number, more: Partial<Row> = {}): Row => ({
  family,
  type: "gauge",
  labels,
  value,
  ...more,
});

export function counted(life: Life, nowMs: number, perSecond: number): number {
  return Math.floor((perSecond * (nowMs - life.bornMs(nowMs))) / 1000);
}

function byFamily(rows: readonly Row[]): Row[][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(row.family, [...(groups.get(row.family) ?? []), row]);
  return [...groups.values()];
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

export function pageText(rows: readonly Row[], isOpenMetrics: boolean): string {
  const lines = byFamily(rows).flatMap((group) => {
    const [{ family, type }] = group as [Row];
    const name = isOpenMetrics && type === "counter" ? family.replace(/_total$/, "") : family;
    // OpenMetrics can't declare a counter without the suffix.
    const declared = isOpenMetrics && type === "counter" && name === family ? "unknown" : type;
    return [`# TYPE ${name} ${declared}`, ...group.flatMap((row) => linesOf(row, isOpenMetrics))];
  });
  return `${lines.join("\n")}\n${isOpenMetrics ? "# EOF\n" : ""}`;
}

function linesOf({ family, labels, value, timeMs }: Row, isOpenMetrics: boolean): string[] {
  const time = timeMs === undefined ? "" : ` ${isOpenMetrics ? timeMs / 1000 : timeMs}`;
  if (typeof value === "number") return [`${family}${labelText(labels)} ${value}${time}`];
  const buckets = [...value.buckets.map(([le, count]) => [String(le), count]), ["+Inf", value.count]];
  return [
    ...buckets.map(([le, count]) => `${family}_bucket${labelText({ ...labels, le: String(le) })} ${count}`),
    `${family}_sum${labelText(labels)} ${value.sum}`,
    `${family}_count${labelText(labels)} ${value.count}`,
  ];
}

/** Keeps counter values. Start times are the first sight or a reset, or missing. */
export class Receiver {
  readonly #starts: "first_seen" | "none" | "delta";
  readonly #seen = new Map<string, { startMs: number; timeMs: number; value: number }>();

  constructor(starts: "first_seen" | "none" | "delta") {
    this.#starts = starts;
  }

  metrics(rows: readonly Row[], nowMs: number): Metric[] {
    return byFamily(rows).flatMap((group): Metric[] => {
      const [{ family: name, type }] = group as [Row];
      if (type === "histogram") return [this.#histogram(name, group, nowMs)];
      const points = group.flatMap((row) => this.#point(row, row.timeMs ?? nowMs));
      if (points.length === 0) return [];
      if (type === "gauge") return [{ name, kind: "gauge", points }];
      const temporality = this.#starts === "delta" ? "delta" : "cumulative";
      return [{ name, kind: "sum", temporality, monotonic: true, points }];
    });
  }

  #point({ family, type, labels, value, startMs }: Row, timeMs: number) {
    const attributes: Attributes = labels;
    if (typeof value !== "number") return [];
    if (type === "gauge") return [{ attributes, timeMs, value }];
    const known = this.#note(`${family}${labelText(labels)}`, timeMs, value);
    if (this.#starts !== "delta") {
      const start = startMs ?? (this.#starts === "none" ? undefined : known.startMs);
      return [{ attributes, timeMs, value, ...(start === undefined ? {} : { startMs: start }) }];
    }
    const { beforeMs, before } = known;
    if (before === null || beforeMs === timeMs) return [];
    return [{ attributes, startMs: beforeMs, timeMs, value: value < before ? value : value - before }];
  }

  #note(key: string, timeMs: number, value: number) {
    const known = this.#seen.get(key);
    const startMs = known === undefined || value < known.value ? timeMs : known.startMs;
    this.#seen.set(key, { startMs, timeMs, value });
    return { startMs, beforeMs: known?.timeMs ?? 0, before: known?.value ?? null };
  }

  #histogram(name: string, rows: readonly Row[], timeMs: number): Metric {
    const points = rows.flatMap(({ labels, value }) => {
      if (typeof value === "number") return [];
      const known = this.#note(`${name}${labelText(labels)}`, timeMs, value.count);
      const counts = [...value.buckets.map(([, count]) => count), value.count];
      return [
        {
          attributes: labels,
          timeMs,
          ...(this.#starts === "none" ? {} : { startMs: known.startMs }),
          count: value.count,
          sum: value.sum,
          explicitBounds: value.buckets.map(([le]) => le),
          bucketCounts: counts.map((count, at) => count - (counts[at - 1] ?? 0)),
        },
      ];
    });
    return { name, kind: "histogram", temporality: "cumulative", points };
  }
}

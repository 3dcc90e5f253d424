import type { Metric as PromMetric, Registry } from "prom-client";
import type { ExponentialHistogramData } from "@isochrone/telemetry";
import { labelsOf } from "./names.ts";

export type Labels = Readonly<Record<string, string>>;

interface Line {
  readonly labels: Record<string, string | number>;
  readonly value: number;
  readonly metricName: string;
}

interface Series<V> {
  readonly labels: Labels;
  value: V;
}

/**
 * A metric whose series follow the peers, in the shape that prom-client's registry reads. (prom-client's
 * histogram cannot take counted buckets, and its metrics cannot drop series by some of their labels.)
 */
export abstract class Family<V> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  abstract readonly type: string;
  readonly aggregator = "sum";
  protected readonly series = new Map<string, Series<V>>();

  constructor(name: string, help: string) {
    this.name = name;
    this.help = help;
    this.labelNames = labelsOf(name);
  }

  removeWhere(labels: Labels): void {
    for (const [key, series] of this.series) {
      if (Object.entries(labels).every(([name, value]) => series.labels[name] === value))
        this.series.delete(key);
    }
  }

  async get(): Promise<{ name: string; help: string; type: string; aggregator: string; values: Line[] }> {
    const values = [...this.series.values()].flatMap((series) => this.lines(series.labels, series.value));
    return { name: this.name, help: this.help, type: this.type, aggregator: this.aggregator, values };
  }

  protected abstract lines(labels: Labels, value: V): Line[];

  protected entry(labels: Labels, create: () => V): Series<V> {
    const key = JSON.stringify(labels);
    let series = this.series.get(key);
    if (series === undefined) this.series.set(key, (series = { labels, value: create() }));
    return series;
  }
}

export class CounterFamily extends Family<number> {
  readonly type = "counter";

  add(labels: Labels, amount: number): void {
    this.entry(labels, () => 0).value += amount;
  }

  protected lines(labels: Labels, value: number): Line[] {
    return [{ labels: { ...labels }, value, metricName: this.name }];
  }
}

export class GaugeFamily extends Family<number> {
  readonly type: string = "gauge";

  /** Null removes the series: an unknown number is absent, never 0. */
  set(labels: Labels, value: number | null): void {
    if (value === null) this.series.delete(JSON.stringify(labels));
    else this.entry(labels, () => value).value = value;
  }

  protected lines(labels: Labels, value: number): Line[] {
    return [{ labels: { ...labels }, value, metricName: this.name }];
  }
}

/** Values with a `quantile` label: a Prometheus summary over a window, without sum and count. */
export class QuantileFamily extends GaugeFamily {
  override readonly type: string = "summary";
}

interface Buckets {
  /** One more than bounds: the last is above all. Not cumulative. */
  readonly counts: number[];
  sum: number;
}

/** A classic histogram fed from exponential ones, at the middle of their buckets (error 1.1 %). */
export class HistogramFamily extends Family<Buckets> {
  readonly type = "histogram";
  readonly #bounds: readonly number[];

  constructor(name: string, help: string, bounds: readonly number[]) {
    super(name, help);
    this.#bounds = bounds;
  }

  add(labels: Labels, data: ExponentialHistogramData): void {
    const buckets = this.entry(labels, () => ({ counts: this.#bounds.map(() => 0).concat(0), sum: 0 })).value;
    buckets.sum += data.sum;
    buckets.counts[0] = (buckets.counts[0] ?? 0) + data.zeroCount;
    for (let i = 0; i < data.bucketCounts.length; i++) {
      const count = data.bucketCounts[i] ?? 0;
      if (count === 0) continue;
      const slot = this.#slotOf(2 ** ((data.offset + i + 0.5) * 2 ** -data.scale));
      buckets.counts[slot] = (buckets.counts[slot] ?? 0) + count;
    }
  }

  protected lines(labels: Labels, { counts, sum }: Buckets): Line[] {
    let cumulative = 0;
    const lines = counts.map((count, slot): Line => {
      cumulative += count;
      return {
        labels: { ...labels, le: this.#bounds[slot] ?? "+Inf" },
        value: cumulative,
        metricName: `${this.name}_bucket`,
      };
    });
    lines.push({ labels: { ...labels }, value: sum, metricName: `${this.name}_sum` });
    lines.push({ labels: { ...labels }, value: cumulative, metricName: `${this.name}_count` });
    return lines;
  }

  #slotOf(value: number): number {
    const slot = this.#bounds.findIndex((bound) => value <= bound);
    return slot === -1 ? this.#bounds.length : slot;
  }
}

/** Finds or creates the family: several probes of one process share a registry. */
export function familyIn<F extends Family<unknown>>(registry: Registry, name: string, create: () => F): F {
  const known = registry.getSingleMetric(name);
  if (known !== undefined) return known as unknown as F;
  const family = create();
  registry.registerMetric(family as unknown as PromMetric);
  return family;
}

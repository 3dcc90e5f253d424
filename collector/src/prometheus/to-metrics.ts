// Converts samples to OTLP metrics like the OpenTelemetry Collector's Prometheus receiver.
import { hash } from "node:crypto";
import type { Metric, NumberPoint } from "@isochrone/telemetry";
import type { RawSeries } from "./answer.ts";
import type { Preset } from "./presets.ts";
import { isGauge, type Query } from "./queries.ts";
import type { FreshSample, SeriesMemory } from "./series-memory.ts";

/** Keys for series without a node: their records spread over partitions, each in order. */
const KEYS_WITHOUT_NODE = 16;

interface KeyedMetrics {
  readonly key: string;
  readonly node: string | null;
  readonly metrics: readonly Metric[];
}

/** Unpublished part of an answer. @param namespaceOf whose share a series uses */
export function freshMetrics(
  query: Query,
  series: readonly RawSeries[],
  memory: SeriesMemory,
  fromMs: number,
  namespaceOf: (series: RawSeries) => string = () => "",
): { readonly keyed: readonly KeyedMetrics[]; readonly samples: number } {
  const groups = new Map<string, { node: string | null; points: Map<string, NumberPoint[]> }>();
  let samples = 0;
  for (const one of series) {
    const fresh = memory.fresh(one, fromMs, namespaceOf(one));
    if (fresh.length === 0) continue;
    const attributes = attributesOf(one.labels, query.preset);
    const node = nodeOf(attributes);
    const kept = isGauge(one.metric) ? fresh.slice(-1) : fresh;
    const group = entryOf(groups, node ?? keyWithoutNode(one.labels), () => ({ node, points: new Map() }));
    const points = entryOf(group.points, one.metric, (): NumberPoint[] => []);
    for (const sample of kept) points.push(pointOf(sample, attributes, query, one.metric));
    samples += kept.length;
  }
  const keyed = [...groups].map(([key, { node, points }]) => ({
    key,
    node,
    metrics: [...points].map(([name, ofMetric]) => metricOf(name, ofMetric)),
  }));
  return { keyed, samples };
}

function metricOf(name: string, points: readonly NumberPoint[]): Metric {
  const unit = /_bytes(_total|_sum)?$/.test(name) ? "By" : name.endsWith("_seconds_total") ? "s" : "1";
  if (isGauge(name)) return { name, unit, kind: "gauge", points };
  return { name, unit, kind: "sum", temporality: "cumulative", monotonic: true, points };
}

function pointOf(
  { timeMs, value, startMs }: FreshSample,
  attributes: NumberPoint["attributes"],
  query: Query,
  metric: string,
): NumberPoint {
  const hasStart = startMs !== undefined && query.startIsTold && !isGauge(metric);
  return hasStart ? { attributes, timeMs, value, startMs } : { attributes, timeMs, value };
}

function attributesOf(labels: RawSeries["labels"], preset: Preset | null): Record<string, string> {
  const attributes: Record<string, string> = { ...labels };
  if (preset === null) return attributes;
  for (const name of ["namespace", "pod", "container", "node"] as const) {
    const value = preset[name].map((label) => labels[label] ?? "").find((text) => text !== "");
    if (value !== undefined) attributes[name] = value;
  }
  return attributes;
}

function nodeOf({ node }: Readonly<Record<string, string>>): string | null {
  return node === undefined || node === "" ? null : node;
}

export function seriesNode({ labels }: RawSeries, { node }: Preset): string | null {
  return node.map((label) => labels[label] ?? "").find((text) => text !== "") ?? null;
}

function keyWithoutNode(labels: RawSeries["labels"]): string {
  const target = `${labels["job"] ?? ""}\n${labels["instance"] ?? ""}`;
  return `prometheus-${hash("sha1", target, "buffer")[0]! % KEYS_WITHOUT_NODE}`;
}

function entryOf<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

import {
  Distribution,
  encodeHeaders,
  encodeMetrics,
  PROBE_METRICS,
  RESOURCE_ATTRIBUTES,
  type Attributes,
  type Metric,
  type Outcome,
} from "@isochrone/telemetry";
import type { Temporality } from "@isochrone/telemetry/testing";
import type { IncomingRecord } from "../domain/ingest/ingest.ts";

/** Identity of a record; absent: a foreign record. */
interface RecordOptions {
  readonly source?: string;
  readonly epoch?: string;
  readonly sequence?: number;
  /** On the source's clock. */
  readonly sentAtMs?: number;
  readonly arrivedAtMs: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly resource?: Attributes;
}

export function recordOf(node: string, metrics: readonly Metric[], options: RecordOptions): IncomingRecord {
  const { source = node, epoch = "e1", sequence, sentAtMs = options.arrivedAtMs } = options;
  const identity = sequence === undefined ? {} : encodeHeaders({ source, epoch, sequence, sentAtMs });
  return {
    key: node,
    value: encodeMetrics({
      resource: { [RESOURCE_ATTRIBUTES.node]: node, ...options.resource },
      scope: { name: "test" },
      metrics,
    }),
    headers: { ...identity, ...options.headers },
    appendedAtMs: options.arrivedAtMs,
  };
}

interface ProbeSample {
  readonly target: string;
  readonly method?: string;
  readonly timeMs: number;
  readonly rttsMs?: readonly number[];
  readonly outcomes?: Readonly<Partial<Record<Outcome, number>>>;
  readonly variationMs?: readonly number[];
}

export function probeMetrics(samples: readonly ProbeSample[]): Metric[] {
  const head = ({ target, method = "udp_rr" }: ProbeSample): Attributes => ({
    destination_node: target,
    method,
    ip_family: "4",
  });
  const sum = (name: string, value: (sample: ProbeSample) => number): Metric => ({
    kind: "sum",
    name,
    temporality: "delta",
    monotonic: true,
    points: samples.map((sample) => ({
      attributes: head(sample),
      startMs: sample.timeMs - 1000,
      timeMs: sample.timeMs,
      value: value(sample),
    })),
  });
  const withRtts = samples.filter(({ rttsMs = [] }) => rttsMs.length > 0);
  return [
    {
      kind: "exponentialHistogram",
      name: PROBE_METRICS.rtt,
      unit: "s",
      temporality: "delta",
      points: withRtts.map((sample) => ({
        attributes: head(sample),
        startMs: sample.timeMs - 1000,
        timeMs: sample.timeMs,
        data: distributionOf(sample.rttsMs ?? []).toData(),
      })),
    },
    sum(PROBE_METRICS.rttVariation, ({ variationMs = [] }) =>
      variationMs.reduce((total, ms) => total + ms / 1000, 0),
    ),
    sum(PROBE_METRICS.rttVariationCount, ({ variationMs = [] }) => variationMs.length),
    {
      kind: "sum",
      name: PROBE_METRICS.packets,
      temporality: "delta",
      monotonic: true,
      points: samples.flatMap((sample) =>
        Object.entries(sample.outcomes ?? {}).map(([outcome, value]) => ({
          attributes: { ...head(sample), outcome },
          startMs: sample.timeMs - 1000,
          timeMs: sample.timeMs,
          value,
        })),
      ),
    },
  ];
}

function distributionOf(rttsMs: readonly number[]): Distribution {
  const distribution = new Distribution();
  for (const ms of rttsMs) distribution.record(ms / 1000);
  return distribution;
}

export function counter(
  name: string,
  attributes: Attributes,
  timeMs: number,
  value: number,
  startMs?: number,
  temporality: Temporality = "cumulative",
): Metric {
  const point = { attributes, timeMs, value, ...(startMs === undefined ? {} : { startMs }) };
  return { kind: "sum", name, temporality, monotonic: true, points: [point] };
}

export function gauge(name: string, attributes: Attributes, timeMs: number, value: number): Metric {
  return { kind: "gauge", name, points: [{ attributes, timeMs, value }] };
}

/** Labels of an Istio metric, as set by both proxies. */
export function istio(reporter: string, source: string, target: string, more: Attributes = {}): Attributes {
  return {
    reporter,
    source_workload: source,
    source_workload_namespace: "shop",
    destination_workload: target,
    destination_workload_namespace: "shop",
    ...more,
  };
}

export function bandwidthTest(
  target: string,
  transport: string,
  endMs: number,
  bitsPerSecond: number,
): Metric {
  return gauge(PROBE_METRICS.bandwidth, { destination_node: target, transport }, endMs, bitsPerSecond);
}

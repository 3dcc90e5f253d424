import {
  NODE_METRICS,
  PROBE_ATTRIBUTES,
  PROBE_METRICS,
  RESOURCE_ATTRIBUTES,
  type Attributes,
  type ExponentialHistogramPoint,
  type Metric,
  type MetricsBatch,
  type NumberPoint,
  type Outcome,
} from "@isochrone/telemetry";
import { entriesOf } from "@isochrone/primitives";
import type { BandwidthMeasurement, CardBytes, EngineSnapshot, FlowSnapshot } from "../ports/ports.ts";

/** Identifies the publisher. An absent zone or region is unknown. */
export interface BatchSource {
  readonly node: string;
  readonly zone: string | null;
  readonly region: string | null;
}

/** Published even if zero: a silent peer differs from an unmeasured one. For others absent means zero. */
const ALWAYS: ReadonlySet<Outcome> = new Set(["sent", "received", "lost"]);

/** One bus record: an engine's measurements of one interval (delta temporality). */
export function toBatch(source: BatchSource, snapshot: EngineSnapshot): MetricsBatch {
  const times = { startMs: snapshot.startMs, timeMs: snapshot.endMs };
  const rtt: ExponentialHistogramPoint[] = [];
  const variation: NumberPoint[] = [];
  const variationCount: NumberPoint[] = [];
  const packets: NumberPoint[] = [];
  for (const flow of snapshot.flows) {
    const attributes = attributesOf(flow);
    if (flow.rtt.count > 0) rtt.push({ attributes, ...times, data: flow.rtt });
    if (flow.variationCount > 0) {
      variation.push({ attributes, ...times, value: flow.variationSeconds });
      variationCount.push({ attributes, ...times, value: flow.variationCount, integer: true });
    }
    for (const [outcome, value] of entriesOf(flow.outcomes)) {
      if (value === 0 && !ALWAYS.has(outcome)) continue;
      packets.push({
        attributes: { ...attributes, [PROBE_ATTRIBUTES.outcome]: outcome },
        ...times,
        value,
        integer: true,
      });
    }
  }
  const metrics: Metric[] = [
    { name: PROBE_METRICS.rtt, unit: "s", kind: "exponentialHistogram", temporality: "delta", points: rtt },
    deltaSum(PROBE_METRICS.rttVariation, "s", variation),
    deltaSum(PROBE_METRICS.rttVariationCount, "1", variationCount),
    deltaSum(PROBE_METRICS.packets, "{packet}", packets),
  ];
  return {
    resource: resourceOf(source),
    scope: { name: "isochrone-probe" },
    metrics: metrics.filter((metric) => metric.points.length > 0),
  };
}

export function toBandwidthBatch(source: BatchSource, measurement: BandwidthMeasurement): MetricsBatch {
  const { node, transport, result, endMs, durationMs, bytes, achievedBitsPerSecond } = measurement;
  const attributes = { [PROBE_ATTRIBUTES.destinationNode]: node, [PROBE_ATTRIBUTES.transport]: transport };
  // A delta point must cover some time, even for a test that did not begin.
  const times = { startMs: endMs - Math.max(1, Math.round(durationMs)), timeMs: endMs };
  const ended = { ...attributes, [PROBE_ATTRIBUTES.result]: result };
  const metrics: Metric[] = [
    deltaSum(PROBE_METRICS.bandwidthTests, "{test}", [
      { attributes: ended, ...times, value: 1, integer: true },
    ]),
  ];
  if (bytes > 0) {
    const point = { attributes, ...times, value: Math.round(bytes), integer: true };
    metrics.push(deltaSum(PROBE_METRICS.bandwidthBytes, "By", [point]));
  }
  if (result === "ok" && achievedBitsPerSecond !== null) {
    const points = [{ attributes, timeMs: endMs, value: achievedBitsPerSecond }];
    metrics.push({ name: PROBE_METRICS.bandwidth, unit: "bit/s", kind: "gauge", points });
  }
  return { resource: resourceOf(source), scope: { name: "isochrone-probe" }, metrics };
}

/** One bus record: bytes carried by the node's network cards since they came up. */
export function toCardBatch(source: BatchSource, cards: readonly CardBytes[], timeMs: number): MetricsBatch {
  const points = cards.flatMap(({ name, received, sent }) =>
    Object.entries({ receive: received, transmit: sent }).map(([direction, value]) => ({
      attributes: { interface: name, direction },
      // The time a card came up is unknown; readers ignore the start.
      startMs: timeMs,
      timeMs,
      value,
      integer: true,
    })),
  );
  const metric: Metric = {
    name: NODE_METRICS.network,
    unit: "By",
    kind: "sum",
    temporality: "cumulative",
    monotonic: true,
    points,
  };
  return { resource: resourceOf(source), scope: { name: "isochrone-probe" }, metrics: [metric] };
}

function deltaSum(name: string, unit: string, points: readonly NumberPoint[]): Metric {
  return { name, unit, kind: "sum", temporality: "delta", monotonic: true, points };
}

function attributesOf(flow: FlowSnapshot): Attributes {
  return {
    [PROBE_ATTRIBUTES.destinationNode]: flow.node,
    [PROBE_ATTRIBUTES.method]: flow.method,
    [PROBE_ATTRIBUTES.ipFamily]: String(flow.ipFamily),
  };
}

function resourceOf({ node, zone, region }: BatchSource): Attributes {
  return {
    [RESOURCE_ATTRIBUTES.serviceName]: "isochrone-probe",
    [RESOURCE_ATTRIBUTES.node]: node,
    ...(zone === null ? {} : { [RESOURCE_ATTRIBUTES.zone]: zone }),
    ...(region === null ? {} : { [RESOURCE_ATTRIBUTES.region]: region }),
  };
}

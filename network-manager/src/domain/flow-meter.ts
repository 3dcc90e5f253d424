import {
  FLOW_ATTRIBUTES,
  FLOW_METRICS,
  RESOURCE_ATTRIBUTES,
  type Metric,
  type MetricsBatch,
  type NumberPoint,
} from "@isochrone/telemetry";
import type { ClassCounters, KernelState } from "./kernel-state.ts";
import type { FlowPlacement } from "./wanted.ts";

interface FlowFigures {
  readonly id: string;
  readonly ceilBitsPerSecond: number;
  readonly sentBytes: number;
  readonly droppedPackets: number;
  readonly achievedBitsPerSecond: number;
}

export interface Reading {
  readonly startMs: number;
  readonly timeMs: number;
  readonly flows: readonly FlowFigures[];
}

interface Kept {
  readonly place: string;
  readonly counters: Counted;
}

type Counted = Pick<ClassCounters, "sentBytes" | "droppedPackets">;

export class FlowMeter {
  #kept = new Map<string, Kept>();
  #readMs: number | null = null;

  /**
   * @param nowMs wall clock, for the record's times
   * @param monotonicMs for the rates, which a clock change must not affect
   * @returns null for the first reading
   */
  take(
    flows: readonly FlowPlacement[],
    { counters }: KernelState,
    { nowMs, monotonicMs }: { readonly nowMs: number; readonly monotonicMs: number },
  ): Reading | null {
    const kept = new Map<string, Kept>();
    const figures: FlowFigures[] = [];
    const passedMs = this.#readMs === null ? 0 : monotonicMs - this.#readMs;
    for (const { flow, place } of flows) {
      const found = place === null ? undefined : counters.get(place.device)?.get(place.minor);
      if (place === null || found === undefined) continue;
      const now = { place: `${place.device} ${place.minor}`, counters: found };
      kept.set(flow.id, now);
      if (passedMs <= 0) continue;
      const { sentBytes, droppedPackets } = sinceThen(this.#kept.get(flow.id), now);
      figures.push({
        id: flow.id,
        ceilBitsPerSecond: place.ceilBitsPerSecond,
        sentBytes,
        droppedPackets,
        achievedBitsPerSecond: (sentBytes * 8_000) / passedMs,
      });
    }
    this.#kept = kept;
    this.#readMs = monotonicMs;
    return passedMs <= 0 ? null : { startMs: nowMs - passedMs, timeMs: nowMs, flows: figures };
  }
}

function sinceThen(before: Kept | undefined, now: Kept): Counted {
  const { sentBytes, droppedPackets } = now.counters;
  const isSame = before?.place === now.place && before.counters.sentBytes <= sentBytes;
  if (!isSame) return now.counters;
  return {
    sentBytes: sentBytes - before.counters.sentBytes,
    droppedPackets: Math.max(0, droppedPackets - before.counters.droppedPackets),
  };
}

export function toFlowBatch(node: string, { startMs, timeMs, flows }: Reading): MetricsBatch {
  const points = (value: (flow: FlowFigures) => number): NumberPoint[] =>
    flows.map((flow) => ({
      attributes: { [FLOW_ATTRIBUTES.flow]: flow.id },
      startMs,
      timeMs,
      value: value(flow),
      integer: true,
    }));
  const metrics: Metric[] = [
    {
      name: FLOW_METRICS.allowed,
      unit: "bit/s",
      kind: "gauge",
      points: points((flow) => flow.ceilBitsPerSecond),
    },
    deltaSum(
      FLOW_METRICS.sent,
      "By",
      points((flow) => flow.sentBytes),
    ),
    deltaSum(
      FLOW_METRICS.dropped,
      "{packet}",
      points((flow) => flow.droppedPackets),
    ),
  ];
  return {
    resource: {
      [RESOURCE_ATTRIBUTES.serviceName]: "isochrone-network-manager",
      [RESOURCE_ATTRIBUTES.node]: node,
    },
    scope: { name: "isochrone-network-manager" },
    metrics,
  };
}

function deltaSum(name: string, unit: string, points: readonly NumberPoint[]): Metric {
  return { name, unit, kind: "sum", temporality: "delta", monotonic: true, points };
}

import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";

/**
 * State of a Service's weights. steady: as wanted. moving: on the way. idle: kept for lack of requests or
 * endpoints. refused. stale: removed for lack of data.
 */
export const SERVICE_STATES = ["steady", "moving", "idle", "refused", "stale"] as const;
export type ServiceStateName = (typeof SERVICE_STATES)[number];

export interface DispatchMetrics {
  readonly services: Gauge<"lever" | "state">;
  readonly writes: Counter<"lever" | "result">;
  readonly slices: Counter<"outcome">;
  readonly droppedEvents: Counter<"reason">;
}

export function createDispatchMetrics(registry: Registry): DispatchMetrics {
  const registers = [registry];
  return {
    services: new Gauge({
      name: "isochrone_dispatch_services",
      help: "Services that ask for zone weights, by lever (advise, hints, istio, none) and state (steady, moving, idle, refused, stale); 0 on replicas that don't lead.",
      labelNames: ["lever", "state"],
      registers,
    }),
    writes: new Counter({
      name: "isochrone_dispatch_writes_total",
      help: "Writes of zone weights, by lever (hints, istio) and result (done, failed).",
      labelNames: ["lever", "result"],
      registers,
    }),
    slices: new Counter({
      name: "isochrone_dispatch_slices_total",
      help: "EndpointSlices that the webhook was asked about, by outcome (hinted, unchanged, left: their Service has no zone weights, unreadable).",
      labelNames: ["outcome"],
      registers,
    }),
    droppedEvents: new Counter({
      name: "isochrone_dispatch_events_dropped_total",
      help: "Events about zone weights that were not written, by reason.",
      labelNames: ["reason"],
      registers,
    }),
  };
}

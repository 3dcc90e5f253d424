import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";

export interface AppGroupMetrics {
  readonly writes: Counter<"result">;
  readonly groups: Gauge;
  readonly faulty: Gauge;
  readonly leading: Gauge;
  readonly droppedEvents: Counter<"reason">;
}

export function createAppGroupMetrics(registry: Registry): AppGroupMetrics {
  const registers = [registry];
  return {
    writes: new Counter({
      name: "isochrone_appgroup_status_writes_total",
      help: "Writes of AppGroup status by result (written, conflict, failed, contested).",
      labelNames: ["result"],
      registers,
    }),
    groups: new Gauge({
      name: "isochrone_appgroup_groups",
      help: "AppGroups that the leader keeps the status of; 0 on other replicas.",
      registers,
    }),
    faulty: new Gauge({
      name: "isochrone_appgroup_faulty_groups",
      help: "AppGroups with a fault in their spec, such as a cycle; their Events say which.",
      registers,
    }),
    leading: new Gauge({
      name: "isochrone_appgroup_leading",
      help: "1 while this replica writes AppGroup status, else 0.",
      registers,
    }),
    droppedEvents: new Counter({
      name: "isochrone_appgroup_events_dropped_total",
      help: "Events about AppGroups that were not written, by reason.",
      labelNames: ["reason"],
      registers,
    }),
  };
}

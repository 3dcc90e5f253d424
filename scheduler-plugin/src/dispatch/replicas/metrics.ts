import { Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";

/** State of a Service's replicas. idle: kept without requests or endpoints. stale: kept without data. */
const REPLICA_STATES = ["steady", "changing", "waiting", "idle", "refused", "stale"] as const;
export type ReplicaState = (typeof REPLICA_STATES)[number];
const MODES = ["proposal", "metric", "scale", "none"] as const;
type Mode = (typeof MODES)[number];

export interface ReplicaMetrics {
  readonly changes: Counter<"kind" | "result">;
  readonly frameSeconds: Histogram;
  show(services: readonly ShownService[]): void;
}

interface ShownService {
  readonly namespace: string;
  readonly name: string;
  readonly mode: Mode;
  readonly state: ReplicaState;
  readonly wanted: number | null;
}

export function createReplicaMetrics(registry: Registry): ReplicaMetrics {
  const registers = [registry];
  const services = new Gauge({
    name: "isochrone_orchestration_services",
    help: "Services that ask for replicas by zone, by mode (proposal, metric, scale, none) and state (steady, changing, waiting, idle, refused, stale); every replica counts all.",
    labelNames: ["mode", "state"],
    registers,
  });
  const wanted = new Gauge({
    name: "isochrone_orchestration_wanted_replicas",
    help: "Replicas that a Service in mode metric should have, for an autoscaler; absent while that isn't known.",
    labelNames: ["namespace", "service"],
    registers,
  });
  return {
    changes: new Counter({
      name: "isochrone_orchestration_changes_total",
      help: "Replicas added and removed, by kind (add, remove) and result (done, failed).",
      labelNames: ["kind", "result"],
      registers,
    }),
    frameSeconds: new Histogram({
      name: "isochrone_orchestration_frame_seconds",
      help: "How long a frame of orchestration was worked out, all Services together.",
      buckets: [0.01, 0.1, 1, 10],
      registers,
    }),
    show(shown) {
      for (const mode of MODES)
        for (const state of REPLICA_STATES)
          services.set(
            { mode, state },
            shown.filter((each) => each.mode === mode && each.state === state).length,
          );
      wanted.reset();
      for (const { namespace, name, mode, state, wanted: count } of shown)
        if (mode === "metric" && count !== null && state !== "stale" && state !== "refused")
          wanted.set({ namespace, service: name }, count);
    },
  };
}

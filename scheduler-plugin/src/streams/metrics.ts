import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { JobPhase } from "./job-status.ts";

export interface StreamMetrics {
  readonly leading: Gauge;
  readonly jobs: Gauge<"phase">;
  readonly brokenPromises: Gauge;
  readonly writeFailures: Counter<"write" | "reason">;
  readonly profiles: Counter<"result">;
  readonly moves: Counter<"result">;
  readonly cutFlows: Gauge<"reason">;
  readonly droppedEvents: Counter<"reason">;
}

export const JOB_PHASES: readonly JobPhase[] = ["Waiting", "Placing", "Running", "Failed"];

export function createStreamMetrics(registry: Registry): StreamMetrics {
  const registers = [registry];
  return {
    leading: new Gauge({
      name: "isochrone_streams_leading",
      help: "1 while this replica runs StreamJobs, else 0.",
      registers,
    }),
    jobs: new Gauge({
      name: "isochrone_streams_jobs",
      help: "StreamJobs by phase (Waiting, Placing, Running, Failed); 0 on replicas that don't lead.",
      labelNames: ["phase"],
      registers,
    }),
    brokenPromises: new Gauge({
      name: "isochrone_streams_broken_promises",
      help: "StreamJobs with nodes whose predicted throughput is below their minThroughput.",
      registers,
    }),
    writeFailures: new Counter({
      name: "isochrone_streams_write_failures_total",
      help: "Writes that failed, by what was written (pod, gate, status) and reason.",
      labelNames: ["write", "reason"],
      registers,
    }),
    profiles: new Counter({
      name: "isochrone_streams_profiles_total",
      help: "Profiling pods that ended, by result (measured, failed).",
      labelNames: ["result"],
      registers,
    }),
    moves: new Counter({
      name: "isochrone_streams_moves_total",
      help: "Moves of a running task to a better node, by result (done, abandoned, dry_run).",
      labelNames: ["result"],
      registers,
    }),
    cutFlows: new Gauge({
      name: "isochrone_streams_cut_flows",
      help: "Flows and minBandwidth floors that get less than declared, by reason (link_share, pairs, places).",
      labelNames: ["reason"],
      registers,
    }),
    droppedEvents: new Counter({
      name: "isochrone_streams_events_dropped_total",
      help: "Events about AppGroups whose floors are cut that were not written, by reason.",
      labelNames: ["reason"],
      registers,
    }),
  };
}

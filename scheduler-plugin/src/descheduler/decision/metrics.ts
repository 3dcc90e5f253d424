import { EXCLUSION_REASONS, STAY_REASONS } from "@isochrone/placement";
import { Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";

const FAILURE_REASONS = ["pdb", "changed", "record", "refused", "other"] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

/** Outcome of a move: on its target; elsewhere; withdrawn (the pod stayed); no ready replacement in time. */
const MOVE_OUTCOMES = ["on_target", "elsewhere", "withdrawn", "lost"] as const;
export type MoveOutcome = (typeof MOVE_OUTCOMES)[number];

export const SKIP_REASONS = [
  ...EXCLUSION_REASONS,
  ...STAY_REASONS,
  "unsupported",
  "unsettled",
  "unready",
  "backoff",
  "settled",
] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

export interface DeschedulerMetrics {
  readonly runs: Counter<"outcome">;
  readonly runSeconds: Histogram;
  readonly considered: Gauge;
  readonly skipped: Gauge<"reason">;
  readonly proposed: Counter;
  readonly evictions: Counter;
  readonly failures: Counter<"reason">;
  readonly moves: Counter<"outcome">;
  readonly inFlight: Gauge;
  readonly regret: Gauge;
  readonly stopped: Gauge;
  readonly droppedEvents: Counter<"reason">;
}

export function createDeschedulerMetrics(registry: Registry): DeschedulerMetrics {
  const metrics = deschedulerMetrics([registry]);
  // Create the series at 0, because an increase is only visible from an earlier value.
  for (const outcome of MOVE_OUTCOMES) metrics.moves.inc({ outcome }, 0);
  return metrics;
}

function deschedulerMetrics(registers: Registry[]): DeschedulerMetrics {
  return {
    runs: new Counter({
      name: "isochrone_descheduler_runs_total",
      help: "Runs of the descheduler by outcome: done, failed, or why nothing might be moved.",
      labelNames: ["outcome"],
      registers,
    }),
    runSeconds: new Histogram({
      name: "isochrone_descheduler_run_seconds",
      help: "Time that a run took, evictions included.",
      buckets: [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30],
      registers,
    }),
    considered: new Gauge({
      name: "isochrone_descheduler_pods_considered",
      help: "Pods that the last run might have moved.",
      registers,
    }),
    skipped: new Gauge({
      name: "isochrone_descheduler_pods_skipped",
      help: "Pods of workflows that the last run left where they are, by reason.",
      labelNames: ["reason"],
      registers,
    }),
    proposed: new Counter({
      name: "isochrone_descheduler_moves_proposed_total",
      help: "Moves that runs decided; in dry-run they stay proposals.",
      registers,
    }),
    evictions: new Counter({
      name: "isochrone_descheduler_evictions_total",
      help: "Pods evicted.",
      registers,
    }),
    failures: new Counter({
      name: "isochrone_descheduler_eviction_failures_total",
      help: "Decided moves that weren't made, by reason (pdb: a PodDisruptionBudget forbids it; changed: the pod isn't what it was; record: its target couldn't be written down; refused; other).",
      labelNames: ["reason"],
      registers,
    }),
    moves: new Counter({
      name: "isochrone_descheduler_moves_total",
      help: "Moves by what became of them: replaced on_target, replaced elsewhere, withdrawn (the pod stayed where it was), or lost (no ready replacement by the deadline).",
      labelNames: ["outcome"],
      registers,
    }),
    inFlight: new Gauge({
      name: "isochrone_descheduler_moves_in_flight",
      help: "Moves whose replacement isn't ready yet.",
      registers,
    }),
    regret: new Gauge({
      name: "isochrone_descheduler_regret",
      help: "Share of the gain expected of the last moves that did not come, by measurements after them: 0 all came, 1 none, more: it got worse. A move that did not end on its target counts as 1.",
      registers,
    }),
    stopped: new Gauge({
      name: "isochrone_descheduler_stopped",
      help: "1 while it has stopped itself, because of failed moves or of regret, else 0.",
      registers,
    }),
    droppedEvents: new Counter({
      name: "isochrone_descheduler_events_dropped_total",
      help: "Events about moves that were not written, by reason.",
      labelNames: ["reason"],
      registers,
    }),
  };
}

import { constant, derived } from "@isochrone/runtime";
import type { TestFault } from "./partition-owner.ts";

/** How replicas on Kafka share the work. They are of no account where one aggregator reads everything. */
export const INTAKE_SETTINGS = {
  flushIntervalMs: constant<number | null>(null, "It is a fifth of a pane."),
  counterHorizonMs: derived(
    ({ counterLagMs }: { readonly counterLagMs: number }) => 3 * counterLagMs,
    "It is three times aggregator.counterLagMs.",
  ),
  maxPendingBytes: constant(
    64 * 1024 * 1024,
    "It is a bound for memory; a replica that is behind reads no further.",
  ),
  handOverMs: constant(5000, "It bounds how long a replica waits before partitions move."),
  faultForTests: constant<string | null>(null, "It was for tests alone."),
};

interface IntakeConfig {
  readonly flushIntervalMs: number | null;
  readonly paneMs: number;
  readonly windowMs: number;
}

/** Data gets through within two panes: some of that is the flush, some the build. */
const FLUSHES_PER_PANE = 5;

/** Resolved. */
export function flushIntervalOf({ flushIntervalMs, paneMs }: IntakeConfig): number {
  return flushIntervalMs ?? paneMs / FLUSHES_PER_PANE;
}

/** Typed. */
export function faultOf({ faultForTests }: { readonly faultForTests: string | null }): TestFault | null {
  return faultForTests === "no_deduplication" || faultForTests === "commit_at_read" ? faultForTests : null;
}

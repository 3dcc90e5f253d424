import { bytes, duration, oneOf } from "@isochrone/runtime";
import type { TestFault } from "./partition-owner.ts";

/** How replicas on Kafka share the work. They are of no account where one aggregator reads everything. */
export const INTAKE_SETTINGS = {
  flushIntervalMs: duration({
    default: null,
    min: 50,
    max: 3_600_000,
    description:
      "With several replicas: how often each tells the others what it has drawn from its partitions. Without it: a fifth of aggregator.paneMs.",
  }),
  counterHorizonMs: duration({
    default: 60_000,
    min: 0,
    max: 3_600_000,
    description:
      "With several replicas: how much of the counters' past a replica reads again that takes partitions over; at least some scrape intervals.",
  }),
  maxPendingBytes: bytes({
    default: 64 * 1024 * 1024,
    min: 1024 * 1024,
    description:
      "With several replicas: what each may have read and not yet told the others; beyond it, it reads no further.",
  }),
  handOverMs: duration({
    default: 5000,
    min: 100,
    max: 60_000,
    description:
      "With several replicas: how long one may take to finish its work on partitions that another one gets.",
  }),
  faultForTests: oneOf(["no_deduplication", "commit_at_read"], {
    default: null,
    description: "Breaks the exact counting, to show that a test would notice. Never set it.",
  }),
};

interface IntakeConfig {
  readonly flushIntervalMs: number | null;
  readonly paneMs: number;
  readonly windowMs: number;
}

/** Rules of these settings together with others. */
export const INTAKE_RULES = [
  ({ flushIntervalMs, paneMs }: IntakeConfig): string | null =>
    flushIntervalMs === null || flushIntervalMs <= paneMs
      ? null
      : `aggregator.flushIntervalMs must not exceed aggregator.paneMs (${paneMs}), got ${flushIntervalMs}`,
];

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

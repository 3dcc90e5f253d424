import { setImmediate } from "node:timers/promises";
import type { Clock } from "@isochrone/runtime";
import type { Tables } from "./domain/graphs/tables.ts";
import type { AggregatorConfig } from "./settings.ts";
import { GraphHistory, HISTORY_GAP_MS } from "./domain/graphs/graph-history.ts";

/** Maximum time without a yield, if the steps are fine enough. */
const MAX_BLOCK_MS = 10;

/** Maximum share of a window that is left out for lagging counters. */
const MAX_LAG_SHARE = 0.25;

/** Yields to the event loop once the maximum time has passed. */
export function turnsOf(clock: Clock): () => Promise<void> | null {
  let beganMs = clock.monotonic();
  const giveWay = async (): Promise<void> => {
    await setImmediate();
    beganMs = clock.monotonic();
  };
  return () => (clock.monotonic() - beganMs < MAX_BLOCK_MS ? null : giveWay());
}

export function shapeOf({ windowMs, paneMs, fastPanes, counterLagMs }: AggregatorConfig): Tables["shape"] {
  const lagMs = Math.min(counterLagMs, windowMs * MAX_LAG_SHARE);
  return { windowMs, paneMs, panes: windowMs / paneMs, fastPanes, counterLagMs: lagMs };
}

export function historyOf({ historyMs, historyBytes }: AggregatorConfig): GraphHistory {
  return new GraphHistory({ horizonMs: historyMs, minGapMs: HISTORY_GAP_MS, maxBytes: historyBytes });
}

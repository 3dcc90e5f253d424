// The shape of the windows by the settings, and how building graphs of them gives way to other work.
import { setImmediate } from "node:timers/promises";
import type { Clock } from "@isochrone/runtime";
import type { Tables } from "./domain/graphs/tables.ts";
import type { AggregatorConfig } from "./settings.ts";
import { GraphHistory, HISTORY_GAP_MS } from "./domain/graphs/graph-history.ts";

/** How long building a graph may hold up the event loop at a time, as far as its steps are fine enough. */
const MAX_BLOCK_MS = 10;

/** What of a window may be left out for counters that lag behind. */
const MAX_LAG_SHARE = 0.25;

/** Gives way to what waits for the event loop, once it has waited long enough. */
export function turnsOf(clock: Clock): () => Promise<void> | null {
  let beganMs = clock.monotonic();
  const giveWay = async (): Promise<void> => {
    await setImmediate();
    beganMs = clock.monotonic();
  };
  return () => (clock.monotonic() - beganMs < MAX_BLOCK_MS ? null : giveWay());
}

/** The windows that all tables share. */
export function shapeOf({ windowMs, paneMs, fastPanes, counterLagMs }: AggregatorConfig): Tables["shape"] {
  const lagMs = Math.min(counterLagMs, windowMs * MAX_LAG_SHARE);
  return { windowMs, paneMs, panes: windowMs / paneMs, fastPanes, counterLagMs: lagMs };
}

/** Keeps the graphs of the last hour. */
export function historyOf({ historyMs, historyBytes }: AggregatorConfig): GraphHistory {
  return new GraphHistory({ horizonMs: historyMs, minGapMs: HISTORY_GAP_MS, maxBytes: historyBytes });
}

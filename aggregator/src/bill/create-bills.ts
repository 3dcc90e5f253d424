import type { Clock } from "@isochrone/runtime";
import type { Registry } from "prom-client";
import type { PublishedGraphs } from "../domain/graphs/graph-keeper.ts";
import { panesOf } from "../domain/windows/window-shape.ts";
import type { AggregatorConfig } from "../settings.ts";
import { shapeOf, turnsOf } from "../windows.ts";
import { Bills } from "./domain/bills.ts";
import { createBillMetrics } from "./metrics.ts";
import { pricesIfAny } from "./price-file.ts";

export function createBills(
  config: AggregatorConfig,
  registry: Registry,
  newest: () => PublishedGraphs | null,
  clock: Clock,
  prices = pricesIfAny(config.pricesFile),
): Bills {
  const shape = shapeOf(config);
  const bills = new Bills({
    prices,
    windowSeconds: (window) => (panesOf(shape, window) * shape.paneMs) / 1000,
    horizonMs: config.historyMs,
    turn: turnsOf(clock),
  });
  createBillMetrics(registry, async () => {
    const graphs = newest();
    return graphs === null ? null : bills.of(graphs, "full");
  });
  return bills;
}

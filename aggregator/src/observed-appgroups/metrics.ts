import { ScrapedMetrics } from "@isochrone/runtime";
import { Counter, type Registry } from "prom-client";

const STATES = ["current", "changed", "foreign", "unnameable"] as const;
export type GroupState = (typeof STATES)[number];

interface ObservedAppGroupsMetrics {
  readonly writes: Counter<"result">;
}

export function createObservedAppGroupsMetrics(
  registry: Registry,
  found: () => Iterable<GroupState>,
): ObservedAppGroupsMetrics {
  new ScrapedMetrics(registry).gauges(
    "isochrone_observed_appgroups",
    "Workflows that ask for a generated AppGroup, by what was last found of it.",
    ["state"],
    () => {
      const counts = Map.groupBy(found(), (state) => state);
      return STATES.map((state) => [{ state }, counts.get(state)?.length ?? 0]);
    },
  );
  return {
    writes: new Counter({
      name: "isochrone_observed_appgroup_writes_total",
      help: "Writes of generated AppGroups; conflict: somebody else was ahead, and it is tried again.",
      labelNames: ["result"],
      registers: [registry],
    }),
  };
}

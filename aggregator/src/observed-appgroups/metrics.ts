import { Counter, Gauge, type Registry } from "prom-client";

const STATES = ["current", "changed", "foreign", "unnameable"] as const;
/** What was last found of a generated AppGroup. */
export type GroupState = (typeof STATES)[number];

interface ObservedAppGroupsMetrics {
  readonly writes: Counter<"result">;
}

/** @param found of each workflow that asks */
export function createObservedAppGroupsMetrics(
  registry: Registry,
  found: () => Iterable<GroupState>,
): ObservedAppGroupsMetrics {
  const registers = [registry];
  const states: Gauge<"state"> = new Gauge({
    name: "isochrone_observed_appgroups",
    help: "Workflows that ask for a generated AppGroup, by what was last found of it.",
    labelNames: ["state"],
    registers,
    collect: () => {
      const counts = Map.groupBy(found(), (state) => state);
      for (const state of STATES) states.set({ state }, counts.get(state)?.length ?? 0);
    },
  });
  return {
    writes: new Counter({
      name: "isochrone_observed_appgroup_writes_total",
      help: "Writes of generated AppGroups; conflict: somebody else was ahead, and it is tried again.",
      labelNames: ["result"],
      registers,
    }),
  };
}

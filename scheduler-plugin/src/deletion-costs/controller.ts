import type { ClusterStore, SharedLeadership } from "@isochrone/kubernetes";
import type { Part } from "@isochrone/runtime";
import { Terms } from "../leadership/terms.ts";
import { costOf } from "../planner/objective.ts";
import type { PlannerConfig } from "../planner/settings.ts";
import type { GraphSource } from "../ports/ports.ts";
import type { SchedulerPluginConfig } from "../settings.ts";
import { CostKeeper, type CostKeeperOptions } from "./keeper.ts";

interface DeletionCostDeps extends Pick<CostKeeperOptions, "clock" | "logger" | "pods"> {
  readonly store: ClusterStore;
  readonly leadership: SharedLeadership;
  readonly planner?: PlannerConfig;
}

export function createDeletionCosts(
  { deletionCosts: mode, deletionCostMs: roundMs, bytesPerRequest }: SchedulerPluginConfig,
  deps: DeletionCostDeps | null,
  graphs: GraphSource,
): Part["service"] {
  if (mode === "off" || deps === null) return null;
  const { leadership, planner, ...around } = deps;
  const terms: Terms<CostKeeper> = new Terms({
    leadership,
    begin: () =>
      new CostKeeper({
        ...around,
        graphs,
        store: terms.storeOf(deps.store),
        mode,
        roundMs,
        settings: { bytesPerRequest, ...(planner === undefined ? {} : costOf(planner)) },
      }),
  });
  return terms;
}

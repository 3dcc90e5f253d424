import type { Clock } from "@isochrone/runtime";
import { ExactSolver } from "../adapters/exact-solver.ts";
import { PlanSearch } from "./adapters/plan-search.ts";
import type { PlannerConfig } from "./settings.ts";

/** Shared by gated pods and proposals, so that one thread holds the cluster graph. */
export interface PlanTools {
  readonly search: PlanSearch;
  close(): Promise<void>;
}

/**
 * Lazy: starts nothing.
 * @param config whether very small plans are proven; undefined: no
 */
export function planTools(clock: Clock, config: Pick<PlannerConfig, "exact"> | undefined): PlanTools {
  const solver = config?.exact === true ? new ExactSolver({ clock }) : null;
  const search = new PlanSearch({ clock, ...(solver === null ? {} : { solve: solver.solve }) });
  return {
    search,
    close: async () => {
      await search.close();
      await solver?.close();
    },
  };
}

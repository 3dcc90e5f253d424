import type { Clock } from "@isochrone/runtime";
import { ExactSolver } from "../adapters/exact-solver.ts";
import { PlanSearch } from "./adapters/plan-search.ts";
import type { PlannerConfig } from "./settings.ts";

/**
 * What plans are searched with, for gated pods and for proposals alike: one thread has the cluster graph, not
 * two.
 */
export interface PlanTools {
  readonly search: PlanSearch;
  /** Ends the threads, and what they are asked; they are there again when they are needed again. */
  close(): Promise<void>;
}

/**
 * Nothing runs before it is asked.
 * @param config says whether very small plans are proven; without it they aren't
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

import { DEFAULT_PLAN_SETTINGS } from "@isochrone/placement";
import type { Clock, Logger } from "@isochrone/runtime";
import type { PlannerConfig } from "../planner/settings.ts";
import { savingsReaders } from "../polled-graphs.ts";
import { proposalsOf, type ProposalsConfig } from "../proposals/config.ts";
import type { SchedulerPluginConfig } from "../settings.ts";
import { SavingsView, type SavingsDeps } from "./savings-view.ts";

interface SavingsSurroundings extends Pick<SavingsDeps, "graphs" | "plans" | "pods"> {
  readonly planner?: PlannerConfig;
  readonly proposals?: ProposalsConfig;
  readonly clock: Clock;
  readonly logger: Logger;
}

const KEPT_MS = 60_000;

export function createSavings(config: SchedulerPluginConfig, deps: SavingsSurroundings): SavingsView {
  const { planner, clock, graphs, plans, pods } = deps;
  const proposals = deps.proposals ?? proposalsOf(planner);
  const { maxCpuUse } = DEFAULT_PLAN_SETTINGS;
  return new SavingsView({
    ...savingsReaders(config, deps),
    graphs,
    plans,
    pods,
    clock,
    noProposals: proposals === null ? "the planner is off (planner.enabled)" : null,
    // At 0 the planner ignores measured use, but zone capacity needs a limit.
    maxCpuUse: planner === undefined || planner.maxCpuUse === 0 ? maxCpuUse : planner.maxCpuUse,
    bytesPerRequest: config.bytesPerRequest,
    keptMs: proposals?.intervalMs ?? KEPT_MS,
  });
}

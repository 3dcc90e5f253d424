// The planner's settings, as far as a plan depends on them. The service's code comes with them: loaded only
// where something is set.
import { loadSettings } from "@isochrone/runtime";
import {
  costOf,
  deschedulerSettings,
  exclusionRulesOf,
  leastGainOf,
  plannerSettings,
  schedulerPluginSettings,
  spreadLimits,
} from "@isochrone/scheduler-plugin";
import type { Objective } from "@isochrone/scheduler-plugin";
import type { ExclusionRules, WorkflowPlanInput } from "@isochrone/placement";
import { fromSettingsFile } from "./settings-file.ts";

/**
 * Throws CommandError.
 * @param path of the service's settings; undefined: the environment alone
 * @param objective in place of that of the settings
 */
export function plannerPlanning(
  path: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  objective?: Objective,
): Required<Pick<WorkflowPlanInput, "spread" | "cost">> & { readonly rules: ExclusionRules } {
  const whose = { of: "the planner", sections: ["planner", "scheduler", "descheduler"] };
  return fromSettingsFile(path, whose, (file) => {
    const sections = [plannerSettings, schedulerPluginSettings, deschedulerSettings] as const;
    const { planner, scheduler, descheduler } = loadSettings(sections, { env, file, fileOf: "operator" });
    const asked = { ...planner, ...(objective === undefined ? {} : { objective }) };
    const { bytesPerRequest } = scheduler;
    const cost = { bytesPerRequest, ...costOf(asked), ...leastGainOf(descheduler) };
    return { spread: spreadLimits(planner), cost, rules: exclusionRulesOf({ descheduler }) };
  });
}

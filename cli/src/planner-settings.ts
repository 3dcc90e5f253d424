// The planner's settings, as far as a plan depends on them. The service's code comes with them: loaded only
// where something is set.
import { loadSettings } from "@isochrone/runtime";
import { costOf, plannerSettings, schedulerPluginSettings, spreadLimits } from "@isochrone/scheduler-plugin";
import type { Objective } from "@isochrone/scheduler-plugin";
import type { WorkflowPlanInput } from "@isochrone/placement";
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
): Required<Pick<WorkflowPlanInput, "spread" | "cost">> {
  const whose = { of: "the planner", sections: ["planner", "scheduler"] };
  return fromSettingsFile(path, whose, (file) => {
    const sections = [plannerSettings, schedulerPluginSettings] as const;
    const { planner, scheduler } = loadSettings(sections, { env, file, fileOf: "operator" });
    const asked = { ...planner, ...(objective === undefined ? {} : { objective }) };
    const cost = { bytesPerRequest: scheduler.bytesPerRequest, ...costOf(asked) };
    return { spread: spreadLimits(planner), cost };
  });
}

// The planner's settings, as far as a plan depends on them. The service's code comes with them: loaded only
// where something is set.
import { loadSettings } from "@isochrone/runtime";
import { plannerSettings, schedulerPluginSettings, spreadLimits } from "@isochrone/scheduler-plugin";
import type { WorkflowPlanInput } from "@isochrone/placement";
import { fromSettingsFile } from "./settings-file.ts";

/** Throws CommandError. @param path of the service's settings; undefined: the environment alone */
export function plannerPlanning(
  path: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Required<Pick<WorkflowPlanInput, "spread" | "cost">> {
  const whose = { of: "the planner", sections: ["planner", "scheduler"] };
  return fromSettingsFile(path, whose, (file) => {
    const sections = [plannerSettings, schedulerPluginSettings] as const;
    const { planner, scheduler } = loadSettings(sections, { env, file, fileOf: "operator" });
    const cost = { bytesPerRequest: scheduler.bytesPerRequest, maxCpuUse: planner.maxCpuUse };
    return { spread: spreadLimits(planner), cost };
  });
}

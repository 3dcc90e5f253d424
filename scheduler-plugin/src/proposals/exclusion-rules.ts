import type { ExclusionRules } from "@isochrone/placement";
import { loadSettings } from "@isochrone/runtime";
import { deschedulerSettings } from "../descheduler/decision/settings.ts";
import type { DeschedulerConfig } from "../descheduler/decision/settings.ts";

/** The rules of the descheduler, also while it is off; without any settings the defaults. */
export function exclusionRulesOf({
  descheduler = loadSettings([deschedulerSettings], { env: {} }).descheduler,
}: {
  readonly descheduler?: DeschedulerConfig;
}): ExclusionRules {
  const { minPodAgeMs, allowLocalStorage, allowStatefulSets, allowSingleReplicas } = descheduler;
  return { minPodAgeMs, allowLocalStorage, allowStatefulSets, allowSingleReplicas };
}

import type { ExclusionRules } from "@isochrone/placement";
import { loadSettings } from "@isochrone/runtime";
import { deschedulerSettings } from "../descheduler/decision/settings.ts";
import type { DeschedulerConfig } from "../descheduler/decision/settings.ts";

/** The descheduler's rules, also while it is off; defaults if not configured. */
export function exclusionRulesOf({
  descheduler = loadSettings([deschedulerSettings], { env: {} }).descheduler,
}: {
  readonly descheduler?: DeschedulerConfig;
}): ExclusionRules {
  const { minPodAgeMs, allowLocalStorage, allowStatefulSets, allowSingleReplicas } = descheduler;
  return { minPodAgeMs, allowLocalStorage, allowStatefulSets, allowSingleReplicas };
}

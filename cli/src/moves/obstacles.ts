import type { KubernetesObject } from "@isochrone/kubernetes";
import type { ApiObject, ExclusionRules } from "@isochrone/placement";
import { loadSettings } from "@isochrone/runtime";
import type { MOVED_BY } from "../what-if/cluster-objects.ts";

type MovedBy = Readonly<Record<(typeof MOVED_BY)[number], Iterable<ApiObject>>>;

type JudgedObjects = Record<keyof MovedBy, readonly KubernetesObject[]>;

/**
 * Why pods can't be moved now, by the rules of the scheduler-plugin, whose code is loaded for that.
 *
 * @param rules null: the descheduler's defaults
 */
export async function obstaclesOf(
  objects: MovedBy,
  rules: ExclusionRules | null,
): Promise<(pod: ApiObject) => string | null> {
  const { exclusionRulesOf, gateRulesOf, MoveJudge, webhookSettings } =
    await import("@isochrone/scheduler-plugin");
  const { webhook } = loadSettings([webhookSettings], { env: {} });
  const judge = new MoveJudge({
    objects: { ...(objects as JudgedObjects), appGroups: [] },
    rules: rules ?? exclusionRulesOf({}),
    webhook: gateRulesOf(webhook, []),
    nowMs: Date.now(),
  });
  return (pod) => judge.obstacleOf(pod as KubernetesObject);
}

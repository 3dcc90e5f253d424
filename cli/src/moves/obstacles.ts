import type { KubernetesObject } from "@isochrone/kubernetes";
import type { ApiObject, ExclusionRules } from "@isochrone/placement";
import { loadSettings } from "@isochrone/runtime";

type Kind =
  | "namespaces"
  | "replicaSets"
  | "deployments"
  | "statefulSets"
  | "persistentVolumes"
  | "persistentVolumeClaims"
  | "disruptionBudgets";

export type MovedBy = Readonly<Partial<Record<Kind, Iterable<ApiObject> | undefined>>>;

/** Obstacles by the scheduler-plugin's rules, loaded on demand. @param rules null: the defaults */
export async function obstaclesOf(
  objects: MovedBy,
  rules: ExclusionRules | null,
): Promise<(pod: ApiObject) => string | null> {
  const { exclusionRulesOf, gateRulesOf, MoveJudge, webhookSettings } =
    await import("@isochrone/scheduler-plugin");
  const { webhook } = loadSettings([webhookSettings], { env: {} });
  const judge = new MoveJudge({
    objects: {
      namespaces: listed(objects.namespaces),
      replicaSets: listed(objects.replicaSets),
      deployments: listed(objects.deployments),
      statefulSets: listed(objects.statefulSets),
      persistentVolumes: listed(objects.persistentVolumes),
      persistentVolumeClaims: listed(objects.persistentVolumeClaims),
      disruptionBudgets: listed(objects.disruptionBudgets),
      appGroups: [],
    },
    rules: rules ?? exclusionRulesOf({}),
    webhook: gateRulesOf(webhook, []),
    nowMs: Date.now(),
  });
  return (pod) => judge.obstacleOf(asStored(pod));
}

function listed(objects: Iterable<ApiObject> = []): KubernetesObject[] {
  return Array.from(objects, asStored);
}

function asStored(object: ApiObject): KubernetesObject {
  return object as KubernetesObject;
}

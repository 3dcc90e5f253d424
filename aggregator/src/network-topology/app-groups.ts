import {
  amountOrNull,
  LABELS,
  looseFields,
  looseList,
  looseText,
  parseMemoryBytes,
  type KubernetesObject,
} from "@isochrone/kubernetes";
import type { PlacedPod, Requirement } from "../domain/network-topology/allocated-bandwidth.ts";

/**
 * Pods that claim bandwidth: labelled as KEP-260 has it, with a node, and neither succeeded nor failed. One that is being deleted runs
 * on until it is gone, and counts as long, as for the scheduler.
 */
export function placedPods(pods: readonly KubernetesObject[]): PlacedPod[] {
  return pods.flatMap((object) => {
    const { labels = {} } = object.metadata;
    const appGroup = labels[LABELS.appGroup] ?? "";
    const selector = labels[LABELS.appGroupWorkload] ?? "";
    if (appGroup === "" || selector === "") return [];
    const { namespace = "default" } = object.metadata;
    const node = looseText(object.spec?.["nodeName"]);
    const phase = object.status?.["phase"];
    const isPlaced = node !== "" && phase !== "Succeeded" && phase !== "Failed";
    return isPlaced ? [{ namespace, appGroup, selector, node }] : [];
  });
}

/** The dependencies of AppGroups that need bandwidth. Those that can't be read need none. */
export function requirementsOf(appGroups: readonly KubernetesObject[]): Requirement[] {
  return appGroups.flatMap((appGroup) => {
    const { namespace = "default", name } = appGroup.metadata;
    return looseList(appGroup.spec?.["workloads"]).flatMap(({ workload, dependencies }) => {
      const selector = looseText(looseFields(workload)["selector"]);
      return looseList(dependencies).flatMap((dependency) => {
        const dependencySelector = looseText(looseFields(dependency["workload"])["selector"]);
        const minBitsPerSecond = amountOrNull(dependency["minBandwidth"], parseMemoryBytes) ?? 0;
        if (selector === "" || dependencySelector === "" || minBitsPerSecond === 0) return [];
        return [{ namespace, appGroup: name, selector, dependencySelector, minBitsPerSecond }];
      });
    });
  });
}

import {
  LABELS,
  type AppGroupDependency,
  type AppGroupSpec,
  type AppGroupWorkload,
  type AppGroupWorkloadRef,
  type KubernetesObject,
  type PodSpec,
  type PodStatus,
} from "@isochrone/kubernetes";
import { looseFields, looseList, looseText, parseBitsPerSecond } from "@isochrone/primitives";
import { fairLimit, MAX_DECLARED_BANDWIDTH } from "@isochrone/topology";
import { MAX_CHANNELS_PER_OBJECT } from "../adapters/declared-channels.ts";
import { MAX_CHANNELS_PER_CLUSTER, MAX_CHANNELS_PER_NAMESPACE } from "../adapters/declared-objects.ts";
import type { PlacedPod, Requirement } from "./domain/allocated-bandwidth.ts";

/** Bound pods with KEP-260 labels. A terminating pod counts until it is gone, as in the scheduler. */
export function placedPods(pods: readonly KubernetesObject[]): PlacedPod[] {
  return pods.flatMap((object) => {
    const { labels = {} } = object.metadata;
    const appGroup = labels[LABELS.appGroup] ?? "";
    const selector = labels[LABELS.appGroupWorkload] ?? "";
    if (appGroup === "" || selector === "") return [];
    const { namespace = "default" } = object.metadata;
    const node = looseText(looseFields<PodSpec>(object.spec).nodeName);
    const { phase } = looseFields<PodStatus>(object.status);
    const isPlaced = node !== "" && phase !== "Succeeded" && phase !== "Failed";
    return isPlaced ? [{ namespace, appGroup, selector, node }] : [];
  });
}

/** Dependencies with a bandwidth need, within the limits of declared channels. Ignores invalid ones. */
export function requirementsOf(appGroups: readonly KubernetesObject[]): Requirement[] {
  const byNamespace = [...Map.groupBy(appGroups, ({ metadata }) => metadata.namespace ?? "default").values()];
  const wanted = byNamespace.map((groups) =>
    groups.flatMap(requirementsOfOne).slice(0, MAX_CHANNELS_PER_NAMESPACE),
  );
  const limit = fairLimit(
    wanted.map(({ length }) => length),
    MAX_CHANNELS_PER_CLUSTER,
  );
  return wanted.flatMap((requirements) => requirements.slice(0, limit));
}

function requirementsOfOne({ metadata, spec }: KubernetesObject): Requirement[] {
  const { namespace = "default", name: appGroup } = metadata;
  const found: Requirement[] = [];
  for (const { workload, dependencies } of looseList<AppGroupWorkload>(
    looseFields<AppGroupSpec>(spec).workloads,
  )) {
    const selector = looseText(looseFields<AppGroupWorkloadRef>(workload).selector);
    for (const dependency of looseList<AppGroupDependency>(dependencies)) {
      if (found.length >= MAX_CHANNELS_PER_OBJECT) return found;
      const dependencySelector = looseText(looseFields<AppGroupWorkloadRef>(dependency.workload).selector);
      const asked = parseBitsPerSecond(dependency.minBandwidth) ?? 0;
      if (selector === "" || dependencySelector === "" || asked === 0) continue;
      const minBitsPerSecond = Math.min(asked, MAX_DECLARED_BANDWIDTH);
      found.push({ namespace, appGroup, selector, dependencySelector, minBitsPerSecond });
    }
  }
  return found;
}

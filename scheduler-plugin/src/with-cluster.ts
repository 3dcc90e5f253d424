import type { ClusterStore } from "@isochrone/kubernetes";
import { ClusterObjects } from "./adapters/cluster-objects.ts";
import { ClusterPods } from "./adapters/cluster-pods.ts";
import type { SchedulerPluginDeps } from "./plugin-deps.ts";
import { trimOf } from "./pod-trim.ts";
import type { SchedulerPluginConfig } from "./settings.ts";

export function withCluster<D extends SchedulerPluginDeps & { readonly store: ClusterStore }>(
  { deletionCosts }: Pick<SchedulerPluginConfig, "deletionCosts">,
  deps: D,
) {
  const pods = new ClusterPods({ ...deps, ...trimOf({ ...deps, hasCosts: deletionCosts !== "off" }) });
  return { ...deps, pods, objects: new ClusterObjects(deps) };
}

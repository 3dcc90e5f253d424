import type { ClusterStore, EventRecorder, Leadership } from "@isochrone/kubernetes";
import {
  composeServices,
  type Clock,
  type ComposedService,
  type Logger,
  type Random,
} from "@isochrone/runtime";
import type { Registry } from "prom-client";
import type { StoreClusterWatch } from "./adapters/store-cluster-watch.ts";
import { BandwidthResource } from "./bandwidth-resource/controller.ts";
import { bandwidthResourceSettings, type BandwidthResourceConfig } from "./bandwidth-resource/settings.ts";
import { GateOpener } from "./gates/controller.ts";
import { gatesSettings, type GatesConfig } from "./gates/settings.ts";
import type { PublishedGraphs } from "./domain/graphs/graph-keeper.ts";
import { NetworkTopologyController } from "./network-topology/controller.ts";
import { networkTopologySettings, type NetworkTopologyConfig } from "./network-topology/settings.ts";
import { ObservedAppGroups } from "./observed-appgroups/controller.ts";
import { appGroupsSettings, type AppGroupsConfig } from "./observed-appgroups/settings.ts";

export const clusterControllerSections = {
  networkTopology: networkTopologySettings,
  appGroups: appGroupsSettings,
  bandwidthResource: bandwidthResourceSettings,
  gates: gatesSettings,
} as const;

export interface ClusterControllersConfig {
  readonly networkTopology: NetworkTopologyConfig;
  readonly appGroups: AppGroupsConfig;
  readonly bandwidthResource: BandwidthResourceConfig;
  readonly gates: GatesConfig;
}

interface ClusterControllersDependencies {
  readonly store: ClusterStore;
  readonly watch: Pick<
    StoreClusterWatch,
    "current" | "pods" | "onPodChange" | "nodeObjects" | "workloadObjects" | "isListed" | "appGroups"
  >;
  /** The newest graphs; null before the first. */
  readonly graphs: () => PublishedGraphs | null;
  readonly bandwidthResource: string;
  readonly leadership: Leadership;
  readonly events: Pick<EventRecorder, "event">;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
}

export function createClusterControllers(
  config: ClusterControllersConfig,
  deps: ClusterControllersDependencies,
): ComposedService {
  const { watch, graphs } = deps;
  const gates = new GateOpener({ ...deps, config: config.gates });
  watch.onPodChange((change) => gates.take(change));
  const graph = () => graphs()?.cluster("full") ?? null;
  const networkTopology = new NetworkTopologyController({
    ...deps,
    config: config.networkTopology,
    inputs: { graph, pods: () => watch.pods(), appGroups: () => watch.appGroups() },
  });
  const appGroups = new ObservedAppGroups({
    ...deps,
    config: config.appGroups,
    sources: {
      workflows: () => graphs()?.workflows("full") ?? null,
      cluster: () => watch.current(),
      workloadObjects: () => watch.workloadObjects(),
      isListed: () => watch.isListed(),
      appGroups: () => watch.appGroups(),
    },
  });
  const bandwidth = new BandwidthResource({
    ...deps,
    config: config.bandwidthResource,
    resource: deps.bandwidthResource,
    graph,
    nodes: () => watch.nodeObjects(),
  });
  return composeServices([
    { name: "network topology", service: networkTopology },
    { name: "observed AppGroups", service: appGroups },
    { name: "bandwidth resource", service: bandwidth },
    { name: "gates", service: gates },
  ]);
}

import type { ClusterStore } from "@isochrone/kubernetes";
import { DEFAULT_NAMESPACE, openStore, type KubernetesSettings } from "@isochrone/kubernetes/api-server";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import type { Clock, Logger, Part, Random } from "@isochrone/runtime";
import type { Registry } from "prom-client";
import { loadDump } from "./dump-store.ts";

/** What the process is given to find its cluster. */
interface ClusterSurroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The cluster's objects. */
interface OpenedCluster {
  readonly store: ClusterStore;
  /** The same for what must not wait: Leases and reviews. Null: the cluster is a dump, or there is none. */
  readonly urgent: ClusterStore | null;
  /** Where Isochrone keeps its own objects. */
  readonly namespace: string;
  /** To be started before everything that uses the store, and stopped after it. */
  readonly parts: readonly Part[];
}

/** The dump if there is one, else the API server that the settings or the pod name, else nothing. */
export async function openCluster(
  dumpFile: string | null,
  settings: KubernetesSettings,
  surroundings: ClusterSurroundings,
): Promise<OpenedCluster> {
  const { clock, logger } = surroundings;
  const alone = { urgent: null, namespace: DEFAULT_NAMESPACE, parts: [] };
  if (dumpFile !== null) return { store: await loadDump(dumpFile, clock), ...alone };
  const opened = await openStore(settings, { ...surroundings, service: "aggregator" });
  if (opened !== null) {
    const { store, urgent, namespace, part } = opened;
    return { store, urgent, namespace, parts: [part] };
  }
  logger.warn(
    "no cluster: neither kubernetes.kubeconfig nor aggregator.dumpFile is set and this is no pod, so the graphs have links and channels but no nodes and pods",
  );
  return { store: createMemoryStore({ clock }), ...alone };
}

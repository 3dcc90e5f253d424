import type { ClusterStore } from "@isochrone/kubernetes";
import { DEFAULT_NAMESPACE, openStore, type KubernetesSettings } from "@isochrone/kubernetes/api-server";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import type { Clock, Logger, Part, Random } from "@isochrone/runtime";
import type { Registry } from "prom-client";
import { loadDump } from "./dump-store.ts";

interface ClusterSurroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface OpenedCluster {
  readonly store: ClusterStore;
  /** Separate client for Leases and reviews, which must not queue. Null: no API server. */
  readonly urgent: ClusterStore | null;
  readonly namespace: string;
  /** Start before all users of the store, and stop after them. */
  readonly parts: readonly Part[];
}

/** Opens the dump if one is set, else the API server of the settings or the pod, else nothing. */
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

// What a service's main.ts opens, by the settings of the section `kubernetes`.
import type { Clock, Logger, Part, Random } from "@isochrone/runtime";
import type { Registry } from "prom-client";

import { createApiServerStore } from "./adapters/api-server/create-store.ts";
import type { ApiServerClusterStore, ApiServerStoreOptions } from "./adapters/api-server/create-store.ts";
import { inClusterNamespace, isInCluster } from "./adapters/api-server/in-cluster.ts";
import { KubeconfigCredentials } from "./adapters/api-server/kubeconfig.ts";
import type { ClusterStore } from "./store/port.ts";
import type { KubernetesSettings } from "./settings.ts";
import { StoreCounts } from "./adapters/api-server/store-counts.ts";
import { createStoreMetrics } from "./store-metrics.ts";

interface StoreSurroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Of the process: says whether it runs in a pod. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** As in `isochrone-<service>`: who asks and who writes. */
  readonly service: string;
  /** Gets the metrics of this store. */
  readonly registry?: Registry;
}

export interface OpenedStore {
  readonly store: ApiServerClusterStore;
  /** The same cluster for what is asked rarely and must not wait: Leases, and reviews of who may ask. */
  readonly urgent: ClusterStore;
  /** Where Isochrone keeps its own objects. */
  readonly namespace: string;
  /** What has been asked of the API server, by informers too. */
  readonly counts: StoreCounts;
  /**
   * Closes the store's connections; of all that use it, it comes first in the order of starting, and so is
   * closed last.
   */
  readonly part: Part;
}

/** Whoever waits for an answer of these gives up sooner than for a list. */
const URGENT = { qps: null, requestTimeoutMs: 5_000 };
export const DEFAULT_NAMESPACE = "isochrone";

/**
 * The store of the cluster that the settings or the pod name; null where there is neither. Needs no API
 * server to be there.
 */
export async function openStore(
  settings: KubernetesSettings,
  { clock, random, logger, env, service, registry }: StoreSurroundings,
): Promise<OpenedStore | null> {
  const found = await credentialsOf(settings, env, clock);
  if (found === null) return null;
  const { requestTimeoutMs, qps, burst, pageSize } = settings;
  const name = `isochrone-${service}`;
  const counts = new StoreCounts(clock);
  if (registry !== undefined) createStoreMetrics(registry, counts);
  const store = createApiServerStore({
    credentials: found.credentials,
    clock,
    random,
    logger,
    userAgent: settings.userAgent ?? name,
    fieldManager: name,
    requestTimeoutMs,
    qps,
    burst,
    pageSize,
    observer: counts,
  });
  return {
    store,
    urgent: store.lane(URGENT),
    namespace: settings.namespace ?? found.namespace ?? DEFAULT_NAMESPACE,
    counts,
    part: { name: "API server", service: { stop: () => store.close() } },
  };
}

async function credentialsOf(
  { kubeconfig }: KubernetesSettings,
  env: StoreSurroundings["env"],
  clock: Clock,
): Promise<{
  readonly credentials: ApiServerStoreOptions["credentials"];
  readonly namespace: string | null;
} | null> {
  if (kubeconfig !== null) {
    const credentials = new KubeconfigCredentials(kubeconfig, clock, { env });
    return { credentials, namespace: await credentials.namespace() };
  }
  if (!isInCluster(env)) return null;
  return { credentials: { inCluster: env }, namespace: await inClusterNamespace() };
}

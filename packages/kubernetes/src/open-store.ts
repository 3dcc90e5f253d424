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
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Service as in `isochrone-<service>`; names the client and the field manager. */
  readonly service: string;
  readonly registry?: Registry;
}

export interface OpenedStore {
  readonly store: ApiServerClusterStore;
  /** A lane for rare urgent requests: Leases and access reviews. */
  readonly urgent: ClusterStore;
  readonly namespace: string;
  /** Counts of API server requests, including those of informers. */
  readonly counts: StoreCounts;
  /** Closes connections. Start it first, so that it stops last. */
  readonly part: Part;
}

const URGENT = { qps: null, requestTimeoutMs: 5_000 };
export const DEFAULT_NAMESPACE = "isochrone";

/** Opens the configured store without contacting it. Null: no cluster is configured. */
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

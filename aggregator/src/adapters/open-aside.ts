import type { ClusterStore } from "@isochrone/kubernetes";
import { openStore, type KubernetesSettings } from "@isochrone/kubernetes/api-server";
import type { Service } from "@isochrone/runtime";
import type { ClusterSurroundings } from "./open-cluster.ts";

/** Stores of the same API server for what must not wait behind the writing of annotations. */
export interface AsideStores {
  readonly leases: ClusterStore;
  readonly reviews: ClusterStore;
  readonly services: readonly Service[];
}

/** Both have limits of their own: a Lease is renewed every few seconds, and AccessReview counts its questions itself. */
const LEASE_RATE = { qps: 50, burst: 100 };
const REVIEW_RATE = { qps: 10_000, burst: 10_000 };
/** Whoever waits for an answer of these gives up sooner than for a list. */
const REQUEST_TIMEOUT_MS = 5_000;

/** Null where the settings and the pod name no API server. */
export async function openAside(
  settings: KubernetesSettings,
  { clock, random, logger, env }: Omit<ClusterSurroundings, "registry">,
): Promise<AsideStores | null> {
  const open = (rate: typeof LEASE_RATE) =>
    openStore(
      { ...settings, ...rate, requestTimeoutMs: REQUEST_TIMEOUT_MS },
      { clock, random, logger, env, service: "aggregator" },
    );
  const [leases, reviews] = [await open(LEASE_RATE), await open(REVIEW_RATE)];
  if (leases === null || reviews === null) return null;
  return { leases: leases.store, reviews: reviews.store, services: [leases.service, reviews.service] };
}

import { KINDS } from "@isochrone/kubernetes";
import type { KindRef } from "@isochrone/kubernetes";
import { createApiServerStore } from "@isochrone/kubernetes/api-server";
import type { ApiServerClusterStore } from "@isochrone/kubernetes/testing";
import { seededRandom, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { afterAll, beforeAll, describe } from "vitest";

import { controlPlaneSupport, startControlPlane } from "../harness/control-plane/index.ts";
import type { ControlPlane } from "../harness/control-plane/index.ts";
import { describeClusterStoreContract } from "./cluster-store-contract.ts";

/** Kinds that the contract leaves behind, dependents last. */
const USED: readonly KindRef[] = [
  KINDS.podDisruptionBudget,
  KINDS.deployment,
  KINDS.replicaSet,
  KINDS.pod,
  KINDS.configMap,
  KINDS.service,
  KINDS.node,
];
/** Owned by the API server. */
const ITS_SERVICE = "kubernetes";

const support = controlPlaneSupport([]);
if (!support.supported) console.warn(`contract of the API server's store skipped: ${support.reason}`);

describe.runIf(support.supported)("a real API server", () => {
  let cluster: ControlPlane;
  let store: ApiServerClusterStore;

  beforeAll(async () => {
    cluster = await startControlPlane();
    const clock = systemClock;
    store = createApiServerStore({
      credentials: { kubeconfig: cluster.kubeconfig },
      clock,
      random: seededRandom(1),
      logger: new MemoryLogger({ clock }),
      qps: 1_000,
      burst: 1_000,
      pageSize: 2,
    });
  }, 900_000);

  afterAll(async () => {
    store?.close();
    await cluster?.close();
  });

  describeClusterStoreContract("API server", {
    collectsGarbage: false,
    create: async () => ({
      store,
      overrun: async () => {
        await cluster.compact();
        // Its cache still has data that etcd has compacted.
        await cluster.restartApiServer();
      },
      dispose: () => clear(store),
    }),
  });
});

async function clear(store: ApiServerClusterStore): Promise<void> {
  for (const kind of USED) {
    for (const { metadata } of (await store.list(kind, { metadataOnly: true })).items) {
      const { name, namespace, finalizers } = metadata;
      if (kind === KINDS.service && name === ITS_SERVICE) continue;
      const ref = { ...kind, name, ...(namespace === undefined ? {} : { namespace }) };
      if (finalizers) await store.patch(ref, { metadata: { finalizers: null } });
      await store.delete(ref, { gracePeriodSeconds: 0 });
    }
  }
}

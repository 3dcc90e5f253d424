import { KINDS } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { ManualClock } from "@isochrone/runtime/testing";

import { describeClusterStoreContract } from "./cluster-store-contract.ts";

const HISTORY_LIMIT = 50;

describeClusterStoreContract("memory", {
  create: async () => {
    const clock = new ManualClock();
    const store = createMemoryStore({ clock, historyLimit: HISTORY_LIMIT });
    return {
      store,
      pass: (ms) => clock.advance(ms),
      overrun: async () => {
        for (let i = 0; i <= HISTORY_LIMIT; i += 1)
          await store.create({ ...KINDS.node, metadata: { name: `overrun-${i}` } });
      },
      dispose: async () => undefined,
    };
  },
});

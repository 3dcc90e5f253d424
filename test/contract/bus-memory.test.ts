import { createMemoryBus } from "@isochrone/bus/memory";
import { ManualClock } from "@isochrone/runtime/testing";

import { describeBusContract } from "./bus-contract.ts";

describeBusContract("memory", {
  capabilities: {
    partitions: 4,
    denseOffsets: true,
    backPressure: true,
    patienceMs: 2_000,
  },
  create: async () => {
    const clock = new ManualClock();
    const bus = createMemoryBus({
      clock,
      partitions: 4,
      capacityRecords: 100,
      capacityBytes: 4 * 1024 * 1024,
      publishTimeoutMs: 2_000,
      redeliveryDelayMs: 1_000,
    });
    return { bus, pass: (ms) => clock.advance(ms), dispose: () => bus.close() };
  },
});

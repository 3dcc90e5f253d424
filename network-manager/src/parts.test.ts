import { createMemoryBus } from "@isochrone/bus/memory";
import { createRegistry, systemClock, systemRandom } from "@isochrone/runtime";
import { failEachPart, MemoryLogger, mistakesOf } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { createNetworkManager } from "./network-manager.ts";
import { managerConfig } from "./testing/manager-config.ts";
import { MemoryKernel } from "./adapters/memory-kernel.ts";
import { plan } from "./testing/plans.ts";
import { SettablePlans } from "./testing/settable-plans.ts";

test("a part of the manager that fails keeps no other from being stopped, and is named", async () => {
  const build = () =>
    createNetworkManager(managerConfig(), {
      bus: createMemoryBus({ clock: systemClock }),
      plans: new SettablePlans(plan()),
      kernel: new MemoryKernel({ ways: new Map(), roots: new Map() }),
      lock: { hold: async () => true, release: async () => undefined },
      clock: systemClock,
      random: systemRandom,
      logger: new MemoryLogger(),
      registry: createRegistry(),
    });
  expect((await failEachPart(build)).flatMap(mistakesOf)).toEqual([]);
});

import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, systemClock, systemRandom } from "@isochrone/runtime";
import { failEachPart, MemoryLogger, mistakesOf } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { createDispatcher } from "./dispatcher.ts";
import { dispatcherConfig } from "./testing/dispatch-rig.ts";

test("a part of the dispatcher that fails keeps no other from being stopped, and is named", async () => {
  const build = () =>
    createDispatcher(dispatcherConfig(), {
      store: createMemoryStore({ clock: systemClock }),
      graphs: { cluster: () => Promise.reject(new Error("away")) },
      clock: systemClock,
      random: systemRandom,
      logger: new MemoryLogger(),
      registry: createRegistry(),
    });
  expect((await failEachPart(build)).flatMap(mistakesOf)).toEqual([]);
});

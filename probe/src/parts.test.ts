import { createMemoryBus } from "@isochrone/bus/memory";
import { createRegistry, systemClock, systemRandom } from "@isochrone/runtime";
import { failEachPart, MemoryLogger, mistakesOf } from "@isochrone/runtime/testing";
import { expect, onTestFinished, test } from "vitest";
import { probeConfig } from "./testing/probe-config.ts";
import { createMeasuringThreads } from "./measuring-threads.ts";
import { createProbe } from "./probe.ts";
import { TEST_HMAC_KEYS } from "./testing/harness.ts";
import { planFor, SettablePlanSource } from "./testing/plans.ts";

test("a part of the probe that fails keeps no other from being stopped, and is named", async () => {
  const logger = new MemoryLogger();
  const thread = createMeasuringThreads({ clock: systemClock, logger });
  onTestFinished(() => thread.close());
  const config = probeConfig({
    node: "a",
    hmacKeys: TEST_HMAC_KEYS,
    bindAddress: "127.0.0.1",
    udpPort: 0,
    tcpPort: 0,
    bandwidthPort: 0,
    zeroCheckIntervalMs: 0,
  });
  const build = () =>
    createProbe(config, {
      bus: createMemoryBus({ clock: systemClock }),
      clock: systemClock,
      random: systemRandom,
      logger,
      registry: createRegistry(),
      thread,
      planSource: new SettablePlanSource(planFor("a", [], { identity: "127.0.0.1" })),
    });
  expect((await failEachPart(build)).flatMap(mistakesOf)).toEqual([]);
});

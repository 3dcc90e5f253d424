import { createMemoryBus } from "@isochrone/bus/memory";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom, systemClock } from "@isochrone/runtime";
import { failEachPart, MemoryLogger, mistakesOf } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { createAggregator, type Aggregator } from "./aggregator.ts";
import { clusterControllerSections } from "./cluster-controllers.ts";
import { aggregatorSettings } from "./settings.ts";
import { annotationSettings } from "./writers/settings.ts";

const CONTROLLERS = Object.values(clusterControllerSections);

function build(): Aggregator {
  const config = loadSettings([aggregatorSettings, annotationSettings, ...CONTROLLERS], {
    env: {},
    file: {
      aggregator: {
        host: "127.0.0.1",
        port: 0,
        replicaName: "aggregator-0",
        hmacKeysSecret: "isochrone/keys",
        recordKeysSecret: "isochrone/record-keys",
      },
      networkTopology: { declaredWeights: "UserDefined", latenciesFrom: "default/latencies" },
    },
  });
  return createAggregator(config.aggregator, {
    bus: createMemoryBus({ clock: systemClock, partitions: 1 }),
    isShared: true,
    store: createMemoryStore({ clock: systemClock }),
    clock: systemClock,
    random: seededRandom(1),
    logger: new MemoryLogger(),
    registry: createRegistry(),
    annotations: config.annotations,
    controllers: config,
  });
}

test("a part of the aggregator that fails keeps no other from being stopped, and is named", async () => {
  const names = build().parts.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["leader Lease", "record keys", "controllers/gates"]));
  expect((await failEachPart(build)).flatMap(mistakesOf)).toEqual([]);
});

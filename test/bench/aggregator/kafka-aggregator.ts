// Prints its address as the first line. Arguments: `--sealed` to verify and seal, and the brokers.
import { once } from "node:events";
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import { MemoryKeyStore } from "@isochrone/aggregator/testing";
import { openBus } from "@isochrone/bus/open";
import { busSettings } from "@isochrone/bus/settings";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createLogger, createRegistry, loadSettings, systemClock, systemRandom } from "@isochrone/runtime";
import { countBuffersAsHeap } from "@isochrone/runtime/testing";
import { benchRandomBytes, MESH_SPEAKER } from "./bench-record-keys.ts";

// Same as in the service's main.
countBuffersAsHeap();
const sealed = process.argv.includes("--sealed");
const brokers = process.argv.slice(2).filter((argument) => argument !== "--sealed");
const { aggregator: config, bus: busConfig } = loadSettings([aggregatorSettings, busSettings], {
  env: {},
  overrides: {
    aggregator: {
      host: "127.0.0.1",
      port: 0,
      windowMs: 300_000,
      buildIntervalMs: 10_000,
      speakers: JSON.stringify([{ name: MESH_SPEAKER, namespaces: ["*"] }]),
    },
    bus: { kind: "kafka", brokers, replicationFactor: brokers.length },
  },
});
const surroundings = {
  clock: systemClock,
  random: systemRandom,
  logger: createLogger({ service: "aggregator", level: "warn", destination: process.stderr }),
  registry: createRegistry({ processMetrics: true }),
};
const { bus, service } = await openBus(busConfig, {
  ...surroundings,
  memory: {},
  windowMs: config.windowMs,
});
await service.start();
const store = createMemoryStore({ clock: systemClock });
const proofs = sealed ? { recordKeyStore: new MemoryKeyStore(), randomBytes: benchRandomBytes } : {};
const aggregator = createAggregator(config, { ...surroundings, bus, store, isShared: true, ...proofs });
await aggregator.start();
process.stdout.write(`${aggregator.address().url}\n`);

process.stdin.resume();
await once(process.stdin, "end");
await aggregator.stop();
await service.stop();
process.exit(0);

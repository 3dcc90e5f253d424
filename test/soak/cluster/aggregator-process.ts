// A simulated cluster's aggregator on Kafka. Prints its address as the first line.
import type { ClusterStore } from "@isochrone/kubernetes";
import { setTimeout as delay } from "node:timers/promises";
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import { openBus } from "@isochrone/bus/open";
import { busSettings } from "@isochrone/bus/settings";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createLogger, createRegistry, loadSettings, systemClock, systemRandom } from "@isochrone/runtime";
import { countBuffersAsHeap, keepHeapDense } from "@isochrone/runtime/testing";
import { nodeObject } from "./objects.ts";
import { PodStore } from "./pod-store.ts";
import type { SoakAggregatorTask } from "./processes.ts";
import { World } from "./world.ts";

const CHURN_TICK_MS = 1000;

// Same as in the service's main with a heap limit.
countBuffersAsHeap();
keepHeapDense();
const task = JSON.parse(process.argv[2] ?? "{}") as SoakAggregatorTask;
const world = new World(task.shape);
const logger = createLogger({ service: "aggregator", level: "info", destination: process.stderr });
const inner = createMemoryStore({ clock: systemClock });
for (let node = 0; node < task.shape.nodes; node++) await inner.create(nodeObject(world, node));
const store = new PodStore(inner, world, Date.now());

const { aggregator: config, bus: busConfig } = loadSettings([aggregatorSettings, busSettings], {
  env: {},
  overrides: {
    aggregator: { host: "127.0.0.1", port: 0, ...task.settings },
    bus: {
      kind: "kafka",
      brokers: task.brokers,
      client: task.client,
      replicationFactor: task.brokers.length,
    },
  },
});
const surroundings = {
  clock: systemClock,
  random: systemRandom,
  logger,
  registry: createRegistry({ processMetrics: true }),
};
const { bus, service: carrying } = await openBus(busConfig, {
  ...surroundings,
  memory: {},
  windowMs: config.windowMs,
});
await carrying.start();
const aggregator = createAggregator(config, {
  ...surroundings,
  bus,
  store: store as ClusterStore,
  isShared: true,
});
await aggregator.start();
process.stdout.write(`${aggregator.address().url}\n`);

const ending = new AbortController();
process.stdin.resume();
process.stdin.on("end", () => ending.abort());
while (!ending.signal.aborted) {
  await delay(CHURN_TICK_MS);
  store.advance(Date.now());
}
await aggregator.stop();
await carrying.stop();
process.exit(0);

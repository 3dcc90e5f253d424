// Prints its address as the first line. Each input line is an object to create.
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import { openBus } from "@isochrone/bus/open";
import { busSettings } from "@isochrone/bus/settings";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createLogger, createRegistry, loadSettings, systemClock, systemRandom } from "@isochrone/runtime";
import { createInterface } from "node:readline";
import { countBuffersAsHeap, keepHeapDense } from "@isochrone/runtime/testing";
import { ATTACKER_NODE, tokenGate } from "./accounts.ts";
import type { FloodedTask } from "./processes.ts";

countBuffersAsHeap();
keepHeapDense();
const { nodes, settings } = JSON.parse(process.argv[2] ?? "{}") as FloodedTask;
const store = createMemoryStore({ clock: systemClock });
for (const name of [...nodes, ATTACKER_NODE])
  await store.create({
    ...KINDS.node,
    metadata: { name },
    status: {
      allocatable: { cpu: "4", memory: "8Gi" },
      conditions: [{ type: "Ready", status: "True" }],
    },
  });
const { aggregator: config, bus: busConfig } = loadSettings([aggregatorSettings, busSettings], {
  env: {},
  overrides: { aggregator: { host: "127.0.0.1", port: 0, ...settings } },
});
const surroundings = {
  clock: systemClock,
  random: systemRandom,
  logger: createLogger({ service: "aggregator", level: "warn", destination: process.stderr }),
  registry: createRegistry({ processMetrics: true }),
};
const { bus, service: carrying } = await openBus(busConfig, {
  ...surroundings,
  memory: {},
  windowMs: config.windowMs,
});
await carrying.start();
const access = { gate: tokenGate(nodes), isMetricsOpen: true };
const aggregator = createAggregator(config, { ...surroundings, bus, store, access });
await aggregator.start();
process.stdout.write(`${aggregator.address().url}\n`);
for await (const line of createInterface({ input: process.stdin }))
  await store.create(JSON.parse(line) as KubernetesObject);
await aggregator.stop();
await carrying.stop();
process.exit(0);

// The aggregator whose consumption of a Kafka backlog is measured. The first line of its output is its
// address; the end of standard input ends it.
import { once } from "node:events";
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import { openBus } from "@isochrone/bus/open";
import { busSettings } from "@isochrone/bus/settings";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createLogger, createRegistry, loadSettings, systemClock, systemRandom } from "@isochrone/runtime";
import { countBuffersAsHeap } from "@isochrone/runtime/testing";

// As the service's own main does.
countBuffersAsHeap();
const brokers = process.argv.slice(2);
const { aggregator: config, bus: busConfig } = loadSettings([aggregatorSettings, busSettings], {
  env: {},
  overrides: {
    aggregator: { host: "127.0.0.1", port: 0, windowMs: 300_000, paneMs: 10_000, buildIntervalMs: 10_000 },
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
const aggregator = createAggregator(config, { ...surroundings, bus, store, isShared: true });
await aggregator.start();
process.stdout.write(`${aggregator.address().url}\n`);

process.stdin.resume();
await once(process.stdin, "end");
await aggregator.stop();
await service.stop();
process.exit(0);

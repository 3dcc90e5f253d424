// The aggregator's process.
import { createMemoryBus } from "@isochrone/bus/memory";
import { createPage } from "@isochrone/dashboard";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { serviceMain } from "@isochrone/runtime/main";
import { loadDump } from "./adapters/dump-store.ts";
import { createAggregator } from "./aggregator.ts";
import { aggregatorSettings } from "./settings.ts";

/** The bus only passes on what is posted here; what the aggregator has read needs no keeping. */
const BUS = { partitions: 8, retentionRecords: 256, retentionBytes: 1024 * 1024 };

await serviceMain({
  name: "aggregator",
  section: aggregatorSettings,
  env: process.env,
  async create(config, surroundings) {
    const { clock, logger } = surroundings;
    if (config.dumpFile === null) {
      logger.warn(
        "no cluster: aggregator.dumpFile is not set, so the graphs have links and channels but no nodes and pods",
      );
    }
    const store =
      config.dumpFile === null ? createMemoryStore({ clock }) : await loadDump(config.dumpFile, clock);
    const bus = createMemoryBus({ clock, logger, ...BUS });
    const closing = { start: async () => undefined, stop: () => bus.close() };
    return [closing, createAggregator(config, { ...surroundings, bus, store, page: createPage() })];
  },
});

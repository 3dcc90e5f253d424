import { createMemoryBus } from "@isochrone/bus/memory";
import type { MemoryBus } from "@isochrone/bus/testing";
import type { ClusterStore } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { createAggregator, type Aggregator } from "../aggregator.ts";
import type { AggregatorDependencies } from "../dependencies.ts";
import { aggregatorSettings } from "../settings.ts";

/** A whole aggregator on a free port of 127.0.0.1, with its environment. */
export interface RunningAggregator {
  readonly aggregator: Aggregator;
  readonly clock: ManualClock;
  readonly bus: MemoryBus;
  readonly store: ClusterStore;
  readonly logger: MemoryLogger;
  stop(): Promise<void>;
}

interface RunningAggregatorOptions {
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Wraps the aggregator's store. */
  readonly around?: (store: ClusterStore) => ClusterStore;
  readonly parts?: Partial<AggregatorDependencies>;
}

/** Windows of 30 s in panes of 2 s. Builds the first graph at once, then one per second of the clock. */
export async function startAggregator(options: RunningAggregatorOptions = {}): Promise<RunningAggregator> {
  const clock = new ManualClock();
  const logger = new MemoryLogger();
  const bus = createMemoryBus({ clock });
  const store = createMemoryStore({ clock });
  const usual = { host: "127.0.0.1", port: 0, windowMs: 30_000, paneMs: 2000, buildIntervalMs: 1000 };
  const { aggregator: config } = loadSettings([aggregatorSettings], {
    env: {},
    file: { aggregator: { ...usual, ...options.settings } },
  });
  const aggregator = createAggregator(config, {
    bus,
    store: options.around?.(store) ?? store,
    clock,
    random: seededRandom(1),
    logger,
    registry: createRegistry(),
    ...options.parts,
  });
  await aggregator.start();
  await clock.advance(0);
  const stop = async (): Promise<void> => {
    await aggregator.stop();
    await bus.close();
  };
  return { aggregator, clock, bus, store, logger, stop };
}

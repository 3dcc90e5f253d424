import type { Publisher } from "@isochrone/bus";
import { createMemoryBus } from "@isochrone/bus/memory";
import type { MemoryBus } from "@isochrone/bus/testing";
import { createRegistry, seededRandom, type Random } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import type { Registry } from "prom-client";
import { capacityPaneMs, DEFAULT_BANDWIDTH_AGES } from "../domain/bandwidth/bandwidth.ts";
import type { IncomingRecord } from "../domain/ingest/ingest.ts";
import { Tables } from "../domain/graphs/tables.ts";
import { createSharedMetrics } from "../intake/intake-metrics.ts";
import { SharedIntake, type SharedIntakeOptions } from "../intake/shared-intake.ts";
import { MortalBus } from "./mortal-bus.ts";

export const SHAPE = { windowMs: 600_000, paneMs: 2000, panes: 300, fastPanes: 3 };
const LIMITS = { maxLinks: 10_000, maxChannels: 10_000, maxPods: 10_000 };
const INGEST = { maxFutureMs: 1000, maxSeries: 100_000, maxSources: 1000 };

/** One replica's intake, with the windows that it fills. */
export interface Replica {
  readonly intake: SharedIntake;
  readonly tables: Tables;
  readonly bus: MortalBus;
  readonly registry: Registry;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** Several replicas on one bus, under one clock. */
export class ReplicaSet {
  readonly clock = new ManualClock();
  readonly bus: MemoryBus;
  readonly logger = new MemoryLogger();
  readonly random: Random;
  /** What `publish` goes by. */
  publisher: Publisher;
  readonly #options: Partial<SharedIntakeOptions>;
  #born = 0;

  constructor(seed = 1, options: Partial<SharedIntakeOptions> = {}) {
    this.random = seededRandom(seed);
    this.#options = options;
    // Nothing is committed of the log, so that it must have room.
    this.bus = createMemoryBus({
      clock: this.clock,
      logger: this.logger,
      partitions: 3,
      capacityRecords: 1_000_000,
      capacityBytes: 2 ** 31,
      redeliveryDelayMs: 100,
    });
    this.publisher = this.bus;
  }

  /** A replica that has begun. */
  async start(options: Partial<SharedIntakeOptions> = {}): Promise<Replica> {
    const tables = new Tables(SHAPE, LIMITS);
    const bus = new MortalBus(this.bus);
    const registry = createRegistry();
    const intake: SharedIntake = new SharedIntake({
      bus,
      clock: this.clock,
      random: seededRandom(++this.#born),
      logger: this.logger,
      tables,
      limits: LIMITS,
      capacityPaneMs: capacityPaneMs(DEFAULT_BANDWIDTH_AGES),
      ingest: INGEST,
      epoch: `r${this.#born}`,
      onRefused: () => undefined,
      metrics: createSharedMetrics(registry, () => intake),
      flushIntervalMs: 400,
      counterHorizonMs: 20_000,
      maxPendingBytes: 64 * 1024 * 1024,
      handOverMs: 3000,
      fault: null,
      ...this.#options,
      ...options,
    });
    await intake.start();
    const stop = (): Promise<void> => this.#while(intake.stop());
    const kill = (): Promise<void> => this.#while(bus.kill());
    return { intake, tables, bus, registry, stop, kill };
  }

  /** Publishes as a collector does. */
  async publish(topic: string, { key, value, headers }: IncomingRecord): Promise<void> {
    await this.publisher.publish(topic, [{ key, value, headers }]);
  }

  /** Lets time pass in steps that are short against every interval. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 50) {
      await this.clock.advance(50);
      await this.clock.advance(0);
      await this.clock.advance(0);
    }
  }

  async close(): Promise<void> {
    await this.#while(this.bus.close());
  }

  /** What is to end may need time to pass. */
  async #while(work: Promise<void>): Promise<void> {
    const done = new AbortController();
    const ended = work.finally(() => done.abort());
    while (!done.signal.aborted) await this.pass(50);
    await ended;
  }
}

/** Sum of a metric over all its labels. */
export async function metricSum({ registry }: Replica, name: string): Promise<number> {
  const { values } = await registry.getSingleMetric(name)!.get();
  return values.reduce((sum, { value }) => sum + value, 0);
}

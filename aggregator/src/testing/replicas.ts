import type { Bus, Publisher } from "@isochrone/bus";
import { createMemoryBus } from "@isochrone/bus/memory";
import type { MemoryBus } from "@isochrone/bus/testing";
import { createRegistry, seededRandom, type Random } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import type { Registry } from "prom-client";
import { Tables } from "../domain/graphs/tables.ts";
import type { IncomingRecord, SpeakingParts } from "../domain/ingest/ingest.ts";
import type { Intake } from "../intake/intake.ts";
import type { RecordProofs } from "../record-keys/record-proofs.ts";
import { startIntake } from "./start-intake.ts";

export const SHAPE = { windowMs: 600_000, paneMs: 2000, panes: 300, fastPanes: 3 };
const LIMITS = { maxLinks: 10_000, maxChannels: 10_000, maxPods: 10_000 };
const INGEST = { maxFutureMs: 1000, maxSeries: 100_000, maxSources: 1000 };

export interface Replica {
  readonly intake: Intake;
  readonly tables: Tables;
  readonly registry: Registry;
  stop(): Promise<void>;
}

interface ReplicaOptions {
  readonly bus?: Bus;
  readonly proofs?: RecordProofs;
  readonly speaking?: SpeakingParts;
  readonly shape?: typeof SHAPE;
  readonly counterHorizonMs?: number;
  /** @default the first replica leads */
  readonly isLeader?: () => boolean;
}

/** Several replicas on one bus and one clock. */
export class ReplicaSet {
  readonly clock = new ManualClock();
  readonly bus: MemoryBus;
  readonly logger = new MemoryLogger();
  readonly random: Random;
  publisher: Publisher;
  #born = 0;

  constructor(seed = 1) {
    this.random = seededRandom(seed);
    this.bus = createMemoryBus({
      clock: this.clock,
      logger: this.logger,
      partitions: 3,
      retentionRecords: 1_000_000,
      retentionBytes: 2 ** 31,
      redeliveryDelayMs: 100,
    });
    this.publisher = this.bus;
  }

  async start(options: ReplicaOptions = {}): Promise<Replica> {
    const { clock, logger } = this;
    const { proofs, speaking = {}, bus = this.bus, shape = SHAPE, counterHorizonMs = 20_000 } = options;
    const isFirst = ++this.#born === 1;
    const leadership = { isLeader: options.isLeader ?? ((): boolean => isFirst) };
    const tables = new Tables(shape, LIMITS);
    const registry = createRegistry();
    const around = { bus, clock, logger, registry, tables, ingest: INGEST, leadership };
    const intake = await startIntake({ ...around, speaking, proofs, counterHorizonMs });
    return { intake, tables, registry, stop: () => this.#while(intake.stop()) };
  }

  async publish(topic: string, { key, value, headers }: IncomingRecord): Promise<void> {
    await this.publisher.publish(topic, [{ key, value, headers }]);
  }

  /** Advances the clock in steps below every interval. */
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

  async #while(work: Promise<void>): Promise<void> {
    const done = new AbortController();
    const ended = work.finally(() => done.abort());
    while (!done.signal.aborted) await this.pass(50);
    await ended;
  }
}

export async function metricSum({ registry }: Replica, name: string): Promise<number> {
  const { values } = await registry.getSingleMetric(name)!.get();
  return values.reduce((sum, { value }) => sum + value, 0);
}

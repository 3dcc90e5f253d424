import { createMemoryBus } from "@isochrone/bus/memory";
import type { BusRecord } from "@isochrone/bus";
import { createRegistry, seededRandom, systemClock } from "@isochrone/runtime";
import { configWith, MemoryLogger } from "@isochrone/runtime/testing";
import { TOPICS } from "@isochrone/telemetry";
import type { RequestListener } from "node:http";
import { createCollector } from "../collector.ts";
import type { Target } from "../ports/ports.ts";
import { collectorSettings, type CollectorConfig } from "../settings.ts";
import { serve } from "./servers.ts";

interface RunningCollector {
  readonly records: BusRecord[];
  readonly logger: MemoryLogger;
  metric(name: string, labels: Record<string, string>): Promise<number>;
  until(check: () => Promise<boolean> | boolean): Promise<void>;
}

export const istioAt = (urls: readonly string[]): Target[] =>
  urls.map((url, index) => ({ kind: "istio", url, instance: `target-${index}` }));

export class CollectorTests {
  readonly #closers: (() => Promise<unknown>)[] = [];

  atEnd(close: () => Promise<unknown>): void {
    this.#closers.push(close);
  }

  async end(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }

  async serving(listener: RequestListener): Promise<string> {
    const server = await serve(listener);
    this.atEnd(() => server.close());
    return `${server.url}/metrics`;
  }

  async run(targets: readonly Target[], settings: Partial<CollectorConfig> = {}): Promise<RunningCollector> {
    const bus = createMemoryBus({ clock: systemClock });
    const records: BusRecord[] = [];
    await bus.subscribe({
      topics: [TOPICS.traffic, TOPICS.usage],
      from: "earliest",
      onBatch: async (batch) => {
        records.push(...batch.records);
      },
    });
    const registry = createRegistry();
    const logger = new MemoryLogger();
    const collector = createCollector(testConfig(settings), {
      bus,
      targets: { targets: () => targets },
      clock: systemClock,
      random: seededRandom(1),
      logger,
      registry,
    });
    await collector.start();
    this.atEnd(async () => {
      await collector.stop();
      await bus.close();
    });
    const metric = async (name: string, labels: Record<string, string>): Promise<number> => {
      const { values } = await registry.getSingleMetric(name)!.get();
      return (
        values.find((value) =>
          Object.entries(labels).every(([key, expected]) => value.labels[key] === expected),
        )?.value ?? 0
      );
    };
    const until = async (check: () => Promise<boolean> | boolean): Promise<void> => {
      for (const deadlineMs = systemClock.monotonic() + 15_000; !(await check());) {
        if (systemClock.monotonic() > deadlineMs)
          throw new Error(`not within 15 s; log: ${JSON.stringify(logger)}`);
        await systemClock.sleep(20);
      }
    };
    return { records, logger, metric, until };
  }
}

export function testConfig(settings: Partial<CollectorConfig>): CollectorConfig {
  const defaults = {
    node: "n1",
    intervalMs: 400,
    timeoutMs: 300,
    maxPageBytes: 256 * 1024,
    maxSamplesPerPage: 1000,
    maxBackoffRounds: 1,
  };
  return configWith(collectorSettings, { ...defaults, ...settings });
}

import { BufferedPublisher, type Publisher } from "@isochrone/bus";
import { periodic, type Clock, type Logger, type Random, type Service } from "@isochrone/runtime";
import { encodeMetrics, RESOURCE_ATTRIBUTES, TOPICS } from "@isochrone/telemetry";
import type { Registry } from "prom-client";
import { fetchReader } from "./adapters/fetch-reader.ts";
import type { TargetKind } from "./domain/families.ts";
import { batchesOf } from "./domain/records.ts";
import { scrape, type ScrapeResult } from "./domain/scrape.ts";
import { StartTimes } from "./domain/start-times.ts";
import { ScrapeError } from "./errors.ts";
import { createCollectorMetrics, type CollectorMetrics } from "./metrics.ts";
import type { PageReader, Target, TargetSource } from "./ports.ts";
import type { CollectorConfig } from "./settings.ts";

export interface CollectorDependencies {
  readonly bus: Publisher;
  readonly targets: TargetSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Shared where several collectors live in one process and registry. */
  readonly metrics?: CollectorMetrics;
  /** @default reading by HTTP */
  readonly reader?: PageReader;
}

const TOPIC_OF: Readonly<Record<TargetKind, string>> = { cadvisor: TOPICS.usage, istio: TOPICS.traffic };
const KINDS: readonly TargetKind[] = ["cadvisor", "istio"];
const MAX_BUFFERED_RECORDS = 10_000;
const CLOSE_DEADLINE_MS = 2_000;

/** A collector: scrapes its node's pages on a fixed beat and publishes them as OTLP. One slow or hostile page delays no other. */
export function createCollector(config: CollectorConfig, dependencies: CollectorDependencies): Service {
  const collector = new Collector(config, dependencies);
  return { start: () => collector.start(), stop: () => collector.stop() };
}

class Collector {
  readonly #config: CollectorConfig;
  readonly #deps: CollectorDependencies;
  readonly #metrics: CollectorMetrics;
  readonly #publisher: BufferedPublisher;
  readonly #startTimes = new Map<string, StartTimes>();
  readonly #rounds: ReturnType<typeof periodic>;

  constructor(config: CollectorConfig, deps: CollectorDependencies) {
    this.#config = config;
    this.#deps = deps;
    this.#metrics = deps.metrics ?? createCollectorMetrics(deps.registry);
    this.#publisher = new BufferedPublisher({
      publisher: deps.bus,
      source: `collector/${config.node}`,
      clock: deps.clock,
      random: deps.random,
      maxRecords: MAX_BUFFERED_RECORDS,
      maxBytes: config.bufferBytes,
      onDropped: (reason, count) => this.#metrics.dropped.inc({ reason }, count),
    });
    this.#rounds = periodic({
      clock: deps.clock,
      intervalMs: config.intervalMs,
      run: (signal) => this.#round(signal),
      onError: (error) => deps.logger.error("scrape round failed", { error }),
    });
  }

  async start(): Promise<void> {
    this.#rounds.start();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
    await this.#publisher.close(CLOSE_DEADLINE_MS);
  }

  async #round(signal: AbortSignal): Promise<void> {
    const targets = this.#deps.targets.targets();
    for (const kind of KINDS)
      this.#metrics.targets.set({ kind }, targets.filter((target) => target.kind === kind).length);
    this.#forgetGone(targets);
    const queue = [...targets];
    const worker = async (): Promise<void> => {
      for (let target = queue.shift(); target !== undefined && !signal.aborted; target = queue.shift())
        await this.#scrape(target, signal);
    };
    await Promise.all(Array.from({ length: Math.min(this.#config.concurrency, queue.length) }, worker));
  }

  #forgetGone(targets: readonly Target[]): void {
    const known = new Set(targets.map(({ instance }) => instance));
    for (const instance of this.#startTimes.keys())
      if (!known.has(instance)) this.#startTimes.delete(instance);
  }

  async #scrape(target: Target, signal: AbortSignal): Promise<void> {
    const { kind } = target;
    const { clock, reader } = this.#deps;
    const { timeoutMs, maxPageBytes, maxSamplesPerPage } = this.#config;
    const startedMs = clock.monotonic();
    try {
      const startTimes = this.#startTimesOf(target);
      const limits = { timeoutMs, maxPageBytes, maxSamplesPerPage };
      const result = await scrape(reader ?? fetchReader, target, startTimes, clock.now(), limits, signal);
      this.#publish(target, result);
      this.#metrics.scrapes.inc({ kind, result: "ok" });
    } catch (error) {
      if (signal.aborted) return;
      this.#failed(target, error);
    } finally {
      this.#metrics.duration.observe({ kind }, (clock.monotonic() - startedMs) / 1000);
    }
  }

  #startTimesOf(target: Target): StartTimes {
    let startTimes = this.#startTimes.get(target.instance);
    if (startTimes === undefined)
      this.#startTimes.set(target.instance, (startTimes = new StartTimes(this.#config.maxSamplesPerPage)));
    return startTimes;
  }

  #publish(target: Target, { metrics, samples, faults }: ScrapeResult): void {
    const { kind, instance } = target;
    this.#metrics.samples.inc({ kind }, samples);
    const left = faults.malformedLines + faults.incompleteHistograms;
    if (left > 0) {
      this.#metrics.malformed.inc({ kind }, left);
      this.#deps.logger.warnOnce(`malformed ${instance}`, "page has parts that can't be read", {
        instance,
        ...faults,
      });
    }
    const resource = {
      [RESOURCE_ATTRIBUTES.serviceName]: `isochrone-${kind}`,
      [RESOURCE_ATTRIBUTES.serviceInstanceId]: instance,
      [RESOURCE_ATTRIBUTES.node]: this.#config.node,
    };
    for (const batch of batchesOf(resource, metrics))
      this.#publisher.offer(TOPIC_OF[kind], this.#config.node, encodeMetrics(batch));
  }

  #failed(target: Target, error: unknown): void {
    const { kind, instance } = target;
    const reason = error instanceof ScrapeError ? error.code : "connect";
    this.#metrics.scrapes.inc({ kind, result: "failed" });
    this.#metrics.failures.inc({ kind, reason });
    this.#deps.logger.warnOnce(`${reason} ${instance}`, "page not taken", { instance, reason, error });
  }
}

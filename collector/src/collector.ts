import { BufferedPublisher, type Publisher } from "@isochrone/bus";
import {
  composeServices,
  pause,
  periodic,
  type Clock,
  type ComposedService,
  type Logger,
  type Part,
  type Random,
} from "@isochrone/runtime";
import { withSpan } from "@isochrone/runtime/tracing";
import { RESOURCE_ATTRIBUTES, TOPICS } from "@isochrone/telemetry";
import type { Registry } from "prom-client";
import { HttpReader } from "./adapters/http-reader.ts";
import { bufferLimits } from "./domain/buffer-limits.ts";
import { UNUSED_ROWS } from "./domain/row-table.ts";
import { scrape, type ScrapeResult } from "./domain/scrape.ts";
import { ScrapeError } from "./ports/errors.ts";
import { createCollectorMetrics, GaugeShare, type CollectorMetrics } from "./metrics.ts";
import { kubeletAccess } from "./node-mode.ts";
import type { PageReader, Target, TargetKind, TargetSource } from "./ports/ports.ts";
import { Rounds, type ScrapeEnd } from "./rounds.ts";
import type { CollectorConfig } from "./settings.ts";
import { TargetMemories } from "./target-memories.ts";

interface CollectorDependencies {
  readonly bus: Publisher;
  readonly targets: TargetSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly metrics?: CollectorMetrics;
  readonly reader?: PageReader;
}

const TOPIC_OF: Readonly<Record<TargetKind, string>> = {
  cadvisor: TOPICS.usage,
  resource: TOPICS.usage,
  node_exporter: TOPICS.usage,
  istio: TOPICS.traffic,
  service_graph: TOPICS.traffic,
  hubble: TOPICS.traffic,
  linkerd: TOPICS.traffic,
  agent: TOPICS.traffic,
};
const CLOSE_DEADLINE_MS = 2_000;
const MAX_PAGE_BYTES = 16 * 1024 * 1024;
const MAX_SAMPLES_PER_PAGE = 50_000;
/** Bounds what one pod can cause. */
const MAX_SERIES_PER_POD = 5_000;
/** Bytes that the last values of all pages take. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;

/** Scrapes the node's pages at a fixed interval and publishes OTLP. No page delays others. */
export function createCollector(
  config: CollectorConfig,
  dependencies: CollectorDependencies,
): ComposedService {
  return composeServices(new Collector(config, dependencies).parts);
}

class Collector {
  readonly #config: CollectorConfig;
  readonly #deps: CollectorDependencies;
  readonly #metrics: CollectorMetrics;
  readonly #gauges = new GaugeShare();
  readonly #publisher: BufferedPublisher;
  readonly #httpReader: HttpReader | null;
  readonly #reader: PageReader;
  readonly #memories: TargetMemories;
  readonly #rounds: Rounds;
  readonly #beat: ReturnType<typeof periodic>;
  readonly #stopping = new AbortController();

  constructor(config: CollectorConfig, deps: CollectorDependencies) {
    const { clock, random, logger } = deps;
    this.#config = config;
    this.#deps = deps;
    const { maxKeptBytes: maxBytes = MAX_KEPT_BYTES, reduce } = config;
    const seed = (): number => Math.floor(random.next() * 2 ** 32);
    this.#memories = new TargetMemories({ maxBytes, reduce, seed });
    this.#metrics = deps.metrics ?? createCollectorMetrics(deps.registry);
    const reader = deps.reader ?? new HttpReader({ kubelet: kubeletAccess(config, logger) });
    this.#reader = reader;
    this.#httpReader = reader instanceof HttpReader ? reader : null;
    this.#publisher = new BufferedPublisher({
      publisher: deps.bus,
      source: `collector/${config.node}`,
      clock,
      random,
      ...bufferLimits(config),
      onDropped: (reason, count) => this.#metrics.dropped.inc({ reason }, count),
      onFailure: (error) => {
        this.#metrics.publishFailures.inc();
        logger.warnOnce("publish", "the bus takes nothing, trying again", { error });
      },
    });
    this.#rounds = new Rounds({
      config,
      source: deps.targets,
      clock,
      random,
      logger,
      metrics: this.#metrics,
      scrape: (target, timeoutMs, signal) => this.#scrape(target, timeoutMs, signal),
    });
    this.#beat = periodic({
      clock,
      intervalMs: config.intervalMs,
      immediate: true,
      run: (signal) => this.#round(signal),
      onError: (error) => logger.error("scrape round failed", { error }),
    });
  }

  get parts(): readonly Part[] {
    const { tlsUnverified } = this.#metrics;
    const isUnverified = this.#config.kubeletInsecureSkipVerify ? 1 : 0;
    return [
      {
        name: "gauges",
        service: {
          start: () => this.#gauges.set(tlsUnverified, {}, isUnverified),
          stop: () => this.#gauges.clear(),
        },
      },
      { name: "scrapes", service: { stop: () => this.#rounds.close() } },
      { name: "connections", service: { stop: () => this.#httpReader?.close() } },
      { name: "publisher", service: { stop: () => this.#publisher.close(CLOSE_DEADLINE_MS) } },
      { name: "rounds", service: { start: () => void this.#begin(), stop: () => this.#end() } },
    ];
  }

  async #end(): Promise<void> {
    this.#stopping.abort();
    await this.#beat.stop();
  }

  /** Starts at a random point of the interval, so that collectors started together spread out. */
  async #begin(): Promise<void> {
    const { clock, random } = this.#deps;
    await pause(clock, random.next() * this.#config.intervalMs, this.#stopping.signal);
    this.#beat.start();
  }

  async #round(signal: AbortSignal): Promise<void> {
    this.#memories.retain(this.#deps.targets.targets());
    await this.#rounds.run(signal);
    const { pending, oldestAgeMs, isCatchingUp } = this.#publisher;
    this.#gauges.set(this.#metrics.pending, {}, pending);
    this.#gauges.set(this.#metrics.oldestAge, {}, oldestAgeMs / 1000);
    this.#gauges.set(this.#metrics.catchingUp, {}, isCatchingUp ? 1 : 0);
  }

  /** This trace continues into the aggregator's graph. */
  #scrape(target: Target, timeoutMs: number, signal: AbortSignal): Promise<ScrapeEnd> {
    const attributes = { "isochrone.target.kind": target.kind, "isochrone.target.instance": target.instance };
    return withSpan("scrape", attributes, () => this.#scrapePage(target, timeoutMs, signal));
  }

  async #scrapePage(target: Target, timeoutMs: number, signal: AbortSignal): Promise<ScrapeEnd> {
    const { kind, instance, pod } = target;
    const { clock } = this.#deps;
    const { maxPageBytes = MAX_PAGE_BYTES, maxSamplesPerPage = MAX_SAMPLES_PER_PAGE, node } = this.#config;
    const begunMs = clock.monotonic();
    const page = new MeasuredReader(this.#reader);
    const resource = {
      [RESOURCE_ATTRIBUTES.serviceName]: `isochrone-${kind}`,
      [RESOURCE_ATTRIBUTES.serviceInstanceId]: instance,
      [RESOURCE_ATTRIBUTES.node]: node,
      ...(pod === undefined
        ? {}
        : { [RESOURCE_ATTRIBUTES.namespace]: pod.namespace, [RESOURCE_ATTRIBUTES.pod]: pod.name }),
    };
    const memories = this.#memories;
    const hasRoom = (): boolean => memories.hasRoom(target);
    const request = { target, memory: memories.of(target), scrapeMs: clock.now(), resource, hasRoom };
    try {
      const result = await scrape(
        page,
        request,
        { timeoutMs, maxPageBytes, maxSamplesPerPage, maxSeriesPerPod: MAX_SERIES_PER_POD },
        signal,
      );
      this.#publish(target, result);
      this.#metrics.scrapes.inc({ kind, result: "ok" });
      const { lack } = result;
      if (lack !== null)
        this.#deps.logger.warnOnce(`${lack} ${instance}`, "page lacks usage of pods", { instance, lack });
      return { outcome: lack === null ? "whole" : "incomplete", bytes: page.bytes };
    } catch (error) {
      if (signal.aborted) return null;
      this.#failed(target, error);
      return { outcome: "failed", bytes: page.bytes };
    } finally {
      this.#metrics.bytes.inc({ kind }, page.bytes);
      this.#metrics.duration.observe({ kind }, (clock.monotonic() - begunMs) / 1000);
    }
  }

  #publish(target: Target, { records, samples, faults, refusals, unused }: ScrapeResult): void {
    const { kind, instance } = target;
    this.#count(target, refusals);
    for (const reason of UNUSED_ROWS)
      if (unused[reason] > 0) this.#metrics.rowsUnused.inc({ kind, reason }, unused[reason]);
    this.#metrics.samples.inc({ kind }, samples);
    const left = faults.malformedLines + faults.incompleteHistograms + faults.unusableValues;
    if (left > 0) {
      this.#metrics.malformed.inc({ kind }, left);
      this.#deps.logger.warnOnce(`malformed ${instance}`, "page has parts that can't be read", {
        instance,
        ...faults,
      });
    }
    for (const record of records) this.#publisher.offer(TOPIC_OF[kind], this.#config.node, record);
  }

  #count({ kind, instance }: Target, { counts, first }: ScrapeResult["refusals"]): void {
    for (const [reason, count] of counts) this.#metrics.rowsRefused.inc({ kind, reason }, count);
    if (first === null) return;
    const { reason, metric, ends } = first;
    this.#deps.logger.warnOnce(`${reason} ${instance}`, "rows of a page are not taken", {
      instance,
      reason,
      metric,
      ...ends,
    });
  }

  #failed(target: Target, error: unknown): void {
    const { kind, instance } = target;
    const reason = error instanceof ScrapeError ? error.code : "connect";
    if (reason === "namespace_share") this.#memories.forget(target);
    this.#metrics.scrapes.inc({ kind, result: "failed" });
    this.#metrics.failures.inc({ kind, reason });
    this.#deps.logger.warnOnce(`${reason} ${instance}`, "page not taken", { instance, reason, error });
  }
}

class MeasuredReader implements PageReader {
  readonly #reader: PageReader;
  bytes = 0;

  constructor(reader: PageReader) {
    this.#reader = reader;
  }

  async read(target: Target, options: Parameters<PageReader["read"]>[1]): Promise<void> {
    await this.#reader.read(target, {
      ...options,
      onBytes: (chunk) => {
        this.bytes += chunk.byteLength;
        return options.onBytes(chunk);
      },
    });
  }
}

import { BufferedPublisher, type Publisher } from "@isochrone/bus";
import {
  composeServices,
  periodic,
  type Clock,
  type ComposedService,
  type Logger,
  type Part,
  type Periodic,
  type Random,
  type ValueOf,
} from "@isochrone/runtime";
import { encodeMetrics, RESOURCE_ATTRIBUTES } from "@isochrone/telemetry";
import type { Registry } from "prom-client";
import { bufferLimits, type BufferBounds } from "../domain/buffer-limits.ts";
import { batchesOf } from "../domain/records.ts";
import type { RawSeries } from "./answer.ts";
import { PrometheusApi, type Credentials } from "./api.ts";
import { readCredentials } from "./credentials.ts";
import { PrometheusError } from "./errors.ts";
import { createPrometheusMetrics, type PrometheusMetrics } from "./metrics.ts";
import { queriesOf, resourceQuery, scrapesSelector, type Query } from "./queries.ts";
import { ScrapedPages } from "./scraped-pages.ts";
import { SeriesMemory } from "./series-memory.ts";
import { SeriesTrust, type TrustSettings } from "./series-trust.ts";
import type { PrometheusBounds, prometheusFields } from "./settings.ts";
import { freshMetrics, seriesNode } from "./to-metrics.ts";

export type PrometheusCollectorConfig = {
  readonly [K in keyof typeof prometheusFields]: ValueOf<(typeof prometheusFields)[K]>;
} & Pick<
  TrustSettings,
  "waypointServes" | "ztunnelDaemonSets" | "hubbleDaemonSets" | "nodeExporterDaemonSets"
> &
  PrometheusBounds &
  BufferBounds & { readonly intervalMs: number };

const MAX_TIMEOUT_MS = 8_000;
const MIN_CATCH_UP_MS = 300_000;
/** Narrower matchers make answers smaller. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
const MAX_SERIES = 200_000;

interface PrometheusCollectorDependencies {
  readonly bus: Publisher;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly metrics?: PrometheusMetrics;
}

interface Round {
  readonly timeMs: number;
  readonly credentials: Credentials;
  readonly signal: AbortSignal;
}

interface Answer {
  readonly series: readonly RawSeries[];
  readonly fromMs: number;
}

const CLOSE_DEADLINE_MS = 2000;
/** Concurrent queries, so that a batch doesn't occupy all of a server's workers. */
const CONCURRENCY = 2;
/** Bound on jobs whose scrapes are queried; a cluster has a handful. */
const MAX_JOBS = 100;
/** A series silent for this many catch-up spans counts as new afterwards. */
const FORGET_AFTER_SPANS = 2;

/** Asks a batch of few queries per interval, all for one time. Publishes each scraped sample once. */
export function createPrometheusCollector(
  config: PrometheusCollectorConfig,
  dependencies: PrometheusCollectorDependencies,
): ComposedService {
  return composeServices(new PrometheusCollector(config, dependencies).parts);
}

class PrometheusCollector {
  readonly #config: PrometheusCollectorConfig;
  readonly #deps: PrometheusCollectorDependencies;
  readonly #metrics: PrometheusMetrics;
  readonly #api: PrometheusApi;
  readonly #queries: readonly Query[];
  readonly #resource: Query | null;
  readonly #publisher: BufferedPublisher;
  readonly #pages = new ScrapedPages();
  readonly #trust: SeriesTrust;
  readonly #memory: SeriesMemory;
  readonly #rounds: Periodic;
  readonly #jobs = new Set<string>();
  readonly #answeredMs = new Map<string, number>();
  /** End of the pause requested by the server, monotonic ms. */
  #pauseUntilMs = Number.NEGATIVE_INFINITY;
  #roundMs = Number.NEGATIVE_INFINITY;
  /** The longest range that a query asks for after an outage. */
  readonly #catchUpMs: number;

  constructor(config: PrometheusCollectorConfig, deps: PrometheusCollectorDependencies) {
    this.#config = config;
    this.#deps = deps;
    this.#metrics = deps.metrics ?? createPrometheusMetrics(deps.registry);
    this.#api = new PrometheusApi({
      url: config.prometheusUrl,
      timeoutMs: config.prometheusTimeoutMs ?? Math.min(MAX_TIMEOUT_MS, config.intervalMs * 0.8),
      maxResponseBytes: config.prometheusMaxResponseBytes ?? MAX_RESPONSE_BYTES,
      tenant: config.prometheusTenant,
      insecureSkipVerify: config.prometheusInsecureSkipVerify,
    });
    this.#queries = queriesOf(config);
    this.#resource = resourceQuery(config);
    this.#trust = new SeriesTrust(config);
    this.#memory = new SeriesMemory(this.#pages, config.prometheusMaxSeries ?? MAX_SERIES);
    this.#catchUpMs = config.prometheusCatchUpMs ?? Math.max(MIN_CATCH_UP_MS, config.prometheusWindowMs);
    this.#publisher = new BufferedPublisher({
      publisher: deps.bus,
      source: `collector/${config.prometheusName}`,
      clock: deps.clock,
      random: deps.random,
      ...bufferLimits(config),
      onDropped: (reason, count) => this.#metrics.dropped.inc({ reason }, count),
    });
    this.#rounds = periodic({
      clock: deps.clock,
      intervalMs: config.intervalMs,
      run: (signal) => this.#round(signal),
      onError: (error) => deps.logger.error("query round failed", { error }),
    });
  }

  get parts(): readonly Part[] {
    return [
      { name: "connections", service: { start: () => this.#showTrust(), stop: () => this.#api.close() } },
      { name: "publisher", service: { stop: () => this.#publisher.close(CLOSE_DEADLINE_MS) } },
      { name: "rounds", service: this.#rounds },
    ];
  }

  #showTrust(): void {
    this.#metrics.tlsUnverified.set(this.#config.prometheusInsecureSkipVerify ? 1 : 0);
    if (this.#config.prometheusInsecureSkipVerify)
      this.#deps.logger.warn("the certificate of Prometheus is not verified", { server: this.#api.server });
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    if (clock.monotonic() < this.#pauseUntilMs) return;
    const timeMs = clock.now();
    // The clock was set back: earlier samples would hide new ones for long.
    if (timeMs < this.#roundMs - this.#config.intervalMs) this.#memory.forget(Number.POSITIVE_INFINITY);
    this.#roundMs = timeMs;
    const credentials = await this.#credentials();
    if (credentials === null) return;
    const round = { timeMs, credentials, signal };
    // Scrapes first: they determine the start of other answers' series.
    if (this.#jobs.size > 0) await this.#askScrapes(round);
    const queue = [...this.#queries];
    const nodes = new Map<Query["name"], ReadonlySet<string>>();
    const worker = async (): Promise<void> => {
      for (let query = queue.shift(); query !== undefined && !signal.aborted; query = queue.shift()) {
        const answer = await this.#ask(query.name, query.selector, round);
        if (answer === null) continue;
        nodes.set(query.name, nodesOf(query, this.#publish(query, answer)));
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, worker));
    await this.#askResource(nodes.get("pods"), nodes.get("nodes"), round);
    this.#memory.forget(timeMs - FORGET_AFTER_SPANS * this.#catchUpMs);
    this.#metrics.series.set(this.#memory.size);
  }

  async #credentials(): Promise<Credentials | null> {
    try {
      return await readCredentials(this.#config);
    } catch (error) {
      for (const { name } of this.#queries) this.#failed(name, error);
      return null;
    }
  }

  async #askScrapes(round: Round): Promise<void> {
    const selector = scrapesSelector(this.#config, [...this.#jobs]);
    const answer = await this.#ask("scrapes", selector, round);
    if (answer !== null) this.#pages.take(answer.series, answer.fromMs, round.timeMs);
  }

  async #askResource(
    withPods: ReadonlySet<string> | undefined,
    nodes: ReadonlySet<string> | undefined,
    round: Round,
  ): Promise<void> {
    const query = this.#resource;
    if (query === null || withPods === undefined || nodes === undefined || round.signal.aborted) return;
    if (withPods.size > 0 && nodes.isSubsetOf(withPods)) {
      // Time without the query isn't an outage.
      this.#answeredMs.delete(query.name);
      return;
    }
    const answer = await this.#ask(query.name, query.selector, round);
    if (answer === null) return;
    const lacks = (one: RawSeries): boolean => !withPods.has(seriesNode(one, query.preset!) ?? "");
    this.#publish(query, { ...answer, series: answer.series.filter(lacks) });
  }

  #publish(query: Query, answer: Answer): readonly RawSeries[] {
    const { fromMs } = answer;
    const series = this.#trusted(query, answer.series).map((one) => this.#trust.withPod(query, one));
    const leftOutBefore = this.#memory.leftOut;
    const namespaceOf = ({ labels }: RawSeries): string =>
      query.preset === null ? this.#trust.target(labels).namespace : "";
    const { keyed, samples } = freshMetrics(query, series, this.#memory, fromMs, namespaceOf);
    this.#metrics.samples.inc({ query: query.name }, samples);
    this.#metrics.seriesLeftOut.inc(this.#memory.leftOut - leftOutBefore);
    this.#learnJobs(series);
    for (const { key, node, metrics } of keyed) {
      const resource = {
        [RESOURCE_ATTRIBUTES.serviceName]: "isochrone-prometheus",
        [RESOURCE_ATTRIBUTES.serviceInstanceId]: this.#config.prometheusName,
        ...(node === null ? {} : { [RESOURCE_ATTRIBUTES.node]: node }),
      };
      for (const batch of batchesOf(resource, metrics))
        this.#publisher.offer(query.topic, key, encodeMetrics(batch));
    }
    return series;
  }

  #trusted(query: Query, series: readonly RawSeries[]): readonly RawSeries[] {
    return series.filter((one) => {
      const reason = this.#trust.refusal(query, one);
      if (reason === null) return true;
      this.#metrics.refused.inc({ query: query.name, reason });
      const { ends, ...told } = this.#trust.refused(reason, one);
      this.#deps.logger.warnOnce(`prometheus ${reason} ${query.name}`, "series are not taken", {
        query: query.name,
        ...told,
        ...ends,
      });
      return false;
    });
  }

  /** Null on failure. Ranges back to the last answer, so that a server's outage loses nothing. */
  async #ask(name: string, selector: string, { timeMs, credentials, signal }: Round): Promise<Answer | null> {
    const { prometheusWindowMs } = this.#config;
    const missedMs = timeMs - (this.#answeredMs.get(name) ?? timeMs) - this.#config.intervalMs;
    const rangeMs = Math.min(this.#catchUpMs, prometheusWindowMs + Math.max(0, Math.ceil(missedMs)));
    const startedMs = this.#deps.clock.monotonic();
    try {
      const answer = await this.#api.query(selector, rangeMs, timeMs, credentials, signal);
      this.#answered(name, answer);
      this.#answeredMs.set(name, timeMs);
      return { series: answer.series, fromMs: timeMs - rangeMs };
    } catch (error) {
      if (!signal.aborted) this.#failed(name, error);
      return null;
    } finally {
      this.#metrics.duration.observe({ query: name }, (this.#deps.clock.monotonic() - startedMs) / 1000);
    }
  }

  #answered(
    query: string,
    { bytes, unreadable, warnings }: { bytes: number; unreadable: number; warnings: readonly string[] },
  ): void {
    this.#metrics.queries.inc({ query, result: "ok" });
    this.#metrics.bytes.inc({ query }, bytes);
    this.#metrics.unreadable.inc({ query }, unreadable);
    if (warnings.length === 0) return;
    this.#metrics.warnings.inc({ query });
    this.#deps.logger.warnOnce(`prometheus warns ${query}`, "Prometheus' answer may lack parts", {
      query,
      warning: warnings[0]!.slice(0, 300),
    });
  }

  #failed(query: string, error: unknown): void {
    const reason = error instanceof PrometheusError ? error.code : "connect";
    this.#metrics.queries.inc({ query, result: "failed" });
    this.#metrics.failures.inc({ query, reason });
    this.#deps.logger.warnOnce(`prometheus ${reason} ${query}`, "query returned nothing", {
      query,
      reason,
      error,
    });
    if (error instanceof PrometheusError && error.retryAfterMs > 0) {
      const waitMs = Math.min(error.retryAfterMs, this.#catchUpMs);
      this.#pauseUntilMs = Math.max(this.#pauseUntilMs, this.#deps.clock.monotonic() + waitMs);
    }
  }

  #learnJobs(series: readonly RawSeries[]): void {
    for (const { labels } of series) {
      const job = labels["job"];
      if (job !== undefined && job !== "" && this.#jobs.size < MAX_JOBS) this.#jobs.add(job);
    }
  }
}

function nodesOf({ preset }: Query, series: readonly RawSeries[]): ReadonlySet<string> {
  if (preset === null) return new Set();
  return new Set(series.map((one) => seriesNode(one, preset)).filter((node) => node !== null));
}

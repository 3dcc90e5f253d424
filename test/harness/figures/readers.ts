// Readers may restart, lose the connection to the aggregator, and send everything twice.
import type { RunningAggregator } from "@isochrone/aggregator/testing";
import { BusError, type OutgoingRecord, type Publisher } from "@isochrone/bus";
import { collectorSettings, createCollector } from "@isochrone/collector";
import type { Target } from "@isochrone/collector/testing";
import { createRegistry, loadSettings, seededRandom, type Service } from "@isochrone/runtime";
import { encodeMetrics, type Attributes } from "@isochrone/telemetry";
import { INTERVAL_MS, NAMESPACE, UNNAMED_CLUSTER, type Draw, type NodeDraw } from "./draw.ts";
import { processRow, type Page } from "./pages.ts";
import { pageText, Receiver, type Row } from "./rows.ts";
import {
  cadvisorRows,
  type CadvisorForm,
  kubeletstatsRows,
  nodeExporterRows,
  resourceRows,
} from "./usage-sources.ts";

interface Surroundings {
  readonly draw: Draw;
  readonly node: NodeDraw;
  readonly running: RunningAggregator;
  readonly beganMs: number;
}

interface Reader {
  tick(): Promise<void>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

type PageRows = (nowMs: number) => readonly Row[];

interface Scraped {
  readonly target: Target;
  readonly rows: PageRows | null;
}

const isAway = ({ outageMs }: NodeDraw, nowMs: number): boolean =>
  outageMs !== null && nowMs >= outageMs[0] && nowMs < outageMs[1];

function usagePages({ draw, node, beganMs }: Surroundings): Scraped[] {
  const target = (kind: Target["kind"], more: Partial<Target> = {}): Target => {
    const url = `http://${node.name}/${kind}`;
    return { kind, url, instance: url, ...more };
  };
  const cadvisor = (form: CadvisorForm): Scraped => ({
    target: target("cadvisor"),
    rows: (nowMs) => cadvisorRows(draw, node, nowMs, beganMs, form),
  });
  const resource: Scraped = {
    target: target("resource", { standsInFor: target("cadvisor").instance }),
    rows: (nowMs) => resourceRows(draw, node, nowMs),
  };
  switch (node.usage) {
    case "cadvisor":
    case "cadvisor_otel":
      return [cadvisor("total")];
    case "cadvisor_cores":
      return [cadvisor("cores")];
    case "cadvisor_standalone":
      return [cadvisor("standalone")];
    case "cadvisor_without_pods":
      return [cadvisor("without_pods"), resource];
    case "resource":
      return [{ target: target("cadvisor"), rows: null }, resource];
    case "node_exporter":
      return [{ target: target("node_exporter"), rows: (nowMs) => nodeExporterRows(draw, node, nowMs) }];
    default:
      return [];
  }
}

function trafficPages({ draw, node, beganMs }: Surroundings, pages: readonly Page[]): Scraped[] {
  return pages.map((page) => ({
    target: {
      kind: page.kind,
      url: page.key,
      instance: page.key,
      ...(page.pod === null ? {} : { pod: { namespace: NAMESPACE, name: page.pod.name } }),
    },
    rows: (nowMs) => [
      ...page.rows.flatMap((some) => some(nowMs)),
      // A Prometheus receiver does not forward it.
      ...(draw.tellsStart && node.reader === "collector" ? [processRow(page, nowMs, beganMs)] : []),
    ],
  }));
}

/** Starts the readers of a node, which share its faults. @param pages traffic pages on the node */
export async function startReaders(around: Surroundings, pages: readonly Page[]): Promise<Reader[]> {
  const { node } = around;
  const usage = usagePages(around);
  const traffic = trafficPages(around, pages);
  const isUsageForeign = node.usage === "cadvisor_otel" || node.usage.startsWith("kubeletstats");
  const [own, foreign]: [Scraped[], Scraped[]] = [[], []];
  (isUsageForeign ? foreign : own).push(...usage);
  (node.reader === "otel" ? foreign : own).push(...traffic);
  return [
    ...(own.length === 0 ? [] : [await CollectorReader.start(around, own)]),
    ...(foreign.length === 0 && !node.usage.startsWith("kubeletstats")
      ? []
      : [new OtelReader(around, foreign)]),
  ];
}

/** A bus that is away for a while and loses acknowledgements, so that records are published again. */
class UnreliableBus implements Publisher {
  readonly #around: Surroundings;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  async publish(topic: string, records: readonly OutgoingRecord[]): Promise<void> {
    const { node, running, beganMs } = this.#around;
    const { bus, clock } = running;
    if (isAway(node, clock.now() - beganMs)) throw new BusError("unavailable", "the bus is away");
    await bus.publish(topic, records);
    if (node.isDoubled) await bus.publish(topic, records);
  }
}

class CollectorReader implements Reader {
  readonly #around: Surroundings;
  readonly #scraped: readonly Scraped[];
  #collector: Service | null = null;
  #lives = 0;

  private constructor(around: Surroundings, scraped: readonly Scraped[]) {
    this.#around = around;
    this.#scraped = scraped;
  }

  static async start(around: Surroundings, scraped: readonly Scraped[]): Promise<CollectorReader> {
    const reader = new CollectorReader(around, scraped);
    await reader.#begin();
    return reader;
  }

  async #begin(): Promise<void> {
    const { draw, node, running, beganMs } = this.#around;
    const { clock, logger } = running;
    const { collector: config } = loadSettings([collectorSettings], {
      env: {},
      file: { collector: { node: node.name, intervalMs: INTERVAL_MS } },
    });
    const pages = new Map(this.#scraped.map(({ target, rows }) => [target.url, rows]));
    const contentType = draw.isOpenMetrics ? "application/openmetrics-text; version=1.0.0" : "text/plain";
    const collector = createCollector(config, {
      bus: new UnreliableBus(this.#around),
      targets: { targets: () => this.#scraped.map(({ target }) => target) },
      clock,
      random: seededRandom(draw.seed * 31 + this.#lives++),
      logger,
      registry: createRegistry(),
      reader: {
        read: async ({ url }, page) => {
          const rows = pages.get(url) ?? null;
          if (rows === null) throw new Error(`${url} answers 500`);
          page.onContentType?.(contentType);
          page.onBytes(Buffer.from(pageText(rows(clock.now() - beganMs), draw.isOpenMetrics)));
        },
      },
    });
    await collector.start();
    this.#collector = collector;
  }

  async tick(): Promise<void> {}

  async restart(): Promise<void> {
    await this.stop();
    await this.#begin();
  }

  async stop(): Promise<void> {
    const { clock } = this.#around.running;
    const stopping = { isOver: false };
    void this.#collector?.stop().then(() => (stopping.isOver = true));
    // Waits while the bus is away.
    while (!stopping.isOver) await clock.advance(100);
  }
}

class OtelReader implements Reader {
  readonly #around: Surroundings;
  readonly #scraped: readonly Scraped[];
  #receivers = new Map<string, Receiver>();
  #waiting: Uint8Array[] = [];

  constructor(around: Surroundings, scraped: readonly Scraped[]) {
    this.#around = around;
    this.#scraped = scraped;
  }

  async tick(): Promise<void> {
    const { node, running, beganMs } = this.#around;
    const nowMs = running.clock.now() - beganMs;
    const body = Buffer.concat(this.#batches(nowMs));
    if (body.length > 0) this.#waiting.push(body);
    if (isAway(node, nowMs)) return;
    for (const waiting of this.#waiting.splice(0))
      for (let times = 0; times < (node.isDoubled ? 2 : 1); times++) await this.#post(waiting);
  }

  async restart(): Promise<void> {
    this.#receivers = new Map();
    this.#waiting = [];
  }

  async stop(): Promise<void> {}

  #batches(nowMs: number): Uint8Array[] {
    const { draw, node, beganMs } = this.#around;
    const scraped = this.#scraped.flatMap(({ target: { instance, kind, pod }, rows }) => {
      if (rows === null) return [];
      const resource = {
        "service.name": kind,
        "service.instance.id": instance,
        ...(pod === undefined ? {} : { "k8s.namespace.name": pod.namespace, "k8s.pod.name": pod.name }),
      };
      // The aggregator rejects differences of a node's network as another metric type.
      const starts = kind === "cadvisor" && node.otelStarts === "delta" ? "first_seen" : node.otelStarts;
      return [this.#batch(instance, resource, rows(nowMs), starts)];
    });
    if (!node.usage.startsWith("kubeletstats")) return scraped;
    const scope = node.usage === "kubeletstats_pods" ? "pods" : "containers";
    const told = kubeletstatsRows(draw, node, nowMs, beganMs, scope).map(({ resource, rows }) =>
      this.#batch(`kubeletstats ${JSON.stringify(resource)}`, resource, rows, "first_seen"),
    );
    return [...scraped, ...told];
  }

  #batch(
    key: string,
    resource: Attributes,
    rows: readonly Row[],
    starts: NodeDraw["otelStarts"],
  ): Uint8Array {
    const { draw, node, running } = this.#around;
    let receiver = this.#receivers.get(key);
    if (receiver === undefined) this.#receivers.set(key, (receiver = new Receiver(starts)));
    const metrics = receiver.metrics(rows, running.clock.now());
    if (metrics.length === 0) return new Uint8Array();
    const cluster = draw.cluster === UNNAMED_CLUSTER ? {} : { "k8s.cluster.name": draw.cluster };
    return encodeMetrics({
      resource: { "k8s.node.name": node.name, ...cluster, ...resource },
      scope: { name: "otelcol" },
      metrics,
    });
  }

  async #post(body: Uint8Array): Promise<void> {
    const { statusCode, body: answer } = await this.#around.running.aggregator.app.inject({
      method: "POST",
      url: "/v1/metrics",
      headers: { "content-type": "application/x-protobuf" },
      payload: Buffer.from(body),
    });
    if (statusCode !== 200)
      throw new Error(`an export must be answered with 200, got ${statusCode}: ${answer}`);
  }
}

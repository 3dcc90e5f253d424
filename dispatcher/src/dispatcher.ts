import type { ClusterStore } from "@isochrone/kubernetes";
import {
  composeServices,
  type Clock,
  type ComposedService,
  type Logger,
  type Random,
} from "@isochrone/runtime";
import { listen, type HttpApp } from "@isochrone/runtime/http";
import type { Registry } from "prom-client";
import { DecisionLog, type DispatchRecord } from "./decision-log.ts";
import { Shares } from "./domain/shares.ts";
import { DispatcherMetrics } from "./metrics.ts";
import { createPages } from "./pages.ts";
import { createPolicy } from "./policies.ts";
import { LoadProber } from "./probes/load-prober.ts";
import { sendRefusal } from "./proxy/client-response.ts";
import { Exchange, type ExchangeDeps } from "./proxy/exchange.ts";
import { ProxyServer, type Arrival } from "./proxy/proxy-server.ts";
import type { RequestHead } from "./proxy/target.ts";
import { Upstreams } from "./proxy/upstreams.ts";
import { GraphRoundTrips, type GraphReader } from "./round-trips.ts";
import { ServiceTable } from "./services/service-table.ts";
import type { DispatcherConfig } from "./settings.ts";

interface DispatcherDeps {
  readonly store: ClusterStore;
  readonly graphs: GraphReader;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
}

interface DispatcherService extends ComposedService {
  /** Listening port; null if not listening. */
  readonly port: number | null;
  decisions(service: string | null, limit: number): readonly DispatchRecord[];
}

export function createDispatcher(config: DispatcherConfig, deps: DispatcherDeps): DispatcherService {
  return new Dispatcher(config, deps);
}

/** Gives one Service up to three quarters of all places, so that one client can't block it for others. */
const SERVICES_SHARE = 1.5;
/** Bound over all requests in flight. They take several times as much memory. */
const MAX_HEADER_BYTES = 16 * 1024 * 1024;
const DRAIN_LOOK_MS = 50;
/** Graphs are built about so often; an answer without news is small. */
const REFRESH_MS = 10_000;
const MAX_CONNECTIONS = 4_096;
const MAX_IN_FLIGHT = 8_192;
/** A site that is cut off must not cost a request its deadline. */
const CONNECT_TIMEOUT_MS = 1_000;
/** Below the deadline of a part's stop. */
const DRAIN_MS = 8_000;

class Dispatcher implements DispatcherService {
  readonly #config: DispatcherConfig;
  readonly #deps: DispatcherDeps;
  readonly #table: ServiceTable;
  readonly #server: ProxyServer;
  readonly #upstreams: Upstreams;
  readonly #metrics: DispatcherMetrics;
  readonly #log: DecisionLog;
  readonly #exchanges: ExchangeDeps;
  readonly #service: ComposedService;
  readonly #byClient: Shares;
  readonly #headers = new Shares(MAX_HEADER_BYTES);
  #pages: HttpApp | null = null;
  #port: number | null = null;
  #isDraining = false;

  constructor(config: DispatcherConfig, deps: DispatcherDeps) {
    const { clock, registry } = deps;
    this.#config = config;
    this.#deps = deps;
    const { maxInFlight = MAX_IN_FLIGHT, maxConnections = MAX_CONNECTIONS } = config;
    this.#byClient = new Shares(maxInFlight);
    const draw = (): number => deps.random.next();
    const trips = new GraphRoundTrips({ refreshMs: REFRESH_MS, ...config, ...deps });
    this.#upstreams = new Upstreams(config.connectTimeoutMs ?? CONNECT_TIMEOUT_MS);
    this.#table = new ServiceTable({ ...deps, onGone: (endpoint) => this.#upstreams.retire(endpoint) });
    this.#metrics = new DispatcherMetrics(registry, {
      inFlight: () => this.#byClient.total,
      connections: () => this.#server.connections,
      graphAgeSeconds: () => trips.ageSeconds,
      isDraining: () => this.#isDraining,
      refusedEndpoints: () => this.#table.refusedEndpoints(),
    });
    this.#log = new DecisionLog(clock);
    this.#server = new ProxyServer({
      ...config,
      maxConnections,
      onRequest: (arrival, clientKey) => this.#serve(arrival, clientKey),
      onClosedConnection: (reason) => this.#metrics.refused(reason),
    });
    this.#exchanges = {
      table: this.#table,
      trips,
      upstreams: this.#upstreams,
      prober: new LoadProber({ upstreams: this.#upstreams, metrics: this.#metrics, clock, draw }),
      metrics: this.#metrics,
      log: this.#log,
      byService: new Shares(SERVICES_SHARE * maxInFlight),
      policy: createPolicy(config.policy, { metrics: this.#metrics, logger: deps.logger }),
      clock,
      draw,
      isDraining: () => this.#isDraining,
    };
    this.#service = composeServices([
      { name: "connections to endpoints", service: { stop: () => this.#upstreams.close() } },
      { name: "round trips", service: trips },
      { name: "services", service: this.#table },
      {
        name: "pages",
        service:
          config.httpPort > 0 ? { start: () => this.#listen(), stop: () => this.#pages?.close() } : null,
      },
      { name: "requests", service: { start: () => this.#open(), stop: () => this.#drain() } },
    ]);
  }

  get parts(): ComposedService["parts"] {
    return this.#service.parts;
  }

  get port(): number | null {
    return this.#port;
  }

  start(): Promise<void> {
    return this.#service.start();
  }

  stop(): Promise<void> {
    return this.#service.stop();
  }

  decisions(service: string | null, limit: number): readonly DispatchRecord[] {
    return this.#log.list(service, limit);
  }

  #serve(client: Arrival, clientKey: string): void {
    const { head } = client;
    const bytes = headerBytes(head);
    if (!this.#byClient.hasRoom(clientKey, 1) || !this.#headers.hasRoom(clientKey, bytes)) {
      const refusal = { reason: "overloaded", detail: "too many requests are under way" } as const;
      this.#metrics.refused(refusal.reason);
      client.response.on("error", () => undefined);
      sendRefusal(client.response, refusal, { headers: head.headers, endsConnection: !client.isHttp2 });
      return;
    }
    this.#byClient.take(clientKey, 1);
    this.#headers.take(clientKey, bytes);
    client.response.once("close", () => {
      this.#byClient.give(clientKey, 1);
      this.#headers.give(clientKey, bytes);
    });
    void new Exchange(this.#exchanges, head, client).run();
  }

  async #open(): Promise<void> {
    this.#port = await this.#server.listen();
  }

  async #drain(): Promise<void> {
    const { clock } = this.#deps;
    this.#isDraining = true;
    this.#server.drain();
    const untilMs = clock.monotonic() + (this.#config.drainMs ?? DRAIN_MS);
    while (this.#byClient.total > 0 && clock.monotonic() < untilMs) await clock.sleep(DRAIN_LOOK_MS);
    this.#server.destroy();
    this.#port = null;
  }

  #ready(): { ready: boolean; reasons: string[] } {
    const reasons = [
      ...(this.#table.isSynced ? [] : ["Services, EndpointSlices and pods have not been listed yet"]),
      ...(this.#isDraining ? ["the dispatcher stops"] : []),
    ];
    return { ready: reasons.length === 0, reasons };
  }

  async #listen(): Promise<void> {
    const { logger, registry } = this.#deps;
    const { host, httpPort: port } = this.#config;
    this.#pages = await createPages({ logger, registry, log: this.#log, ready: () => this.#ready() });
    await listen(this.#pages, { host, port, setting: "dispatcher.httpPort" });
  }
}

function headerBytes({ headers, url }: RequestHead): number {
  let bytes = url.length;
  for (const [name, value] of Object.entries(headers))
    bytes += name.length + (typeof value === "string" ? value : String(value)).length;
  return bytes;
}

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
import { RetryBudget } from "./domain/retries.ts";
import { DispatcherMetrics } from "./metrics.ts";
import { createPages } from "./pages.ts";
import { createPolicy } from "./policies.ts";
import { LoadProber } from "./probes/load-prober.ts";
import { sendRefusal } from "./proxy/client-response.ts";
import { Exchange, type ExchangeDeps } from "./proxy/exchange.ts";
import { ProxyServer, type Arrival } from "./proxy/proxy-server.ts";
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

/** Sends clients' requests to endpoints of the Services that ask for it. */
interface DispatcherService extends ComposedService {
  /** That clients connect to; null: not listening. */
  readonly port: number | null;
  /** The newest decisions of the sample, of one Service (namespace/name) or of all. */
  decisions(service: string | null, limit: number): readonly DispatchRecord[];
}

export function createDispatcher(config: DispatcherConfig, deps: DispatcherDeps): DispatcherService {
  return new Dispatcher(config, deps);
}

/** How often it is looked whether requests are still under way. */
const DRAIN_LOOK_MS = 50;

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
  #pages: HttpApp | null = null;
  #port: number | null = null;
  #inFlight = 0;
  #isDraining = false;

  constructor(config: DispatcherConfig, deps: DispatcherDeps) {
    const { clock, registry } = deps;
    this.#config = config;
    this.#deps = deps;
    const draw = (): number => deps.random.next();
    const trips = new GraphRoundTrips({ ...config, ...deps });
    this.#upstreams = new Upstreams(config.connectTimeoutMs);
    this.#table = new ServiceTable({ ...deps, onGone: (endpoint) => this.#upstreams.retire(endpoint) });
    this.#metrics = new DispatcherMetrics(registry, {
      inFlight: () => this.#inFlight,
      connections: () => this.#server.connections,
      graphAgeSeconds: () => trips.ageSeconds,
      isDraining: () => this.#isDraining,
    });
    this.#log = new DecisionLog(clock);
    this.#server = new ProxyServer({
      ...config,
      onRequest: (arrival) => this.#serve(arrival),
      onRefusedConnection: () => this.#metrics.refused("connections"),
    });
    this.#exchanges = {
      table: this.#table,
      trips,
      upstreams: this.#upstreams,
      prober: new LoadProber({ upstreams: this.#upstreams, metrics: this.#metrics, clock, draw }),
      metrics: this.#metrics,
      log: this.#log,
      budget: new RetryBudget(),
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

  #serve({ head, ...client }: Arrival): void {
    if (this.#inFlight >= this.#config.maxInFlight) {
      const refusal = { reason: "overloaded", detail: "too many requests are under way" } as const;
      this.#metrics.refused(refusal.reason);
      sendRefusal(client.response, refusal, { headers: head.headers, endsConnection: !client.isHttp2 });
      return;
    }
    this.#inFlight++;
    client.response.once("close", () => this.#inFlight--);
    void new Exchange(this.#exchanges, head, client).run();
  }

  async #open(): Promise<void> {
    this.#port = await this.#server.listen();
  }

  /** What is under way may end; then all connections do. */
  async #drain(): Promise<void> {
    const { clock } = this.#deps;
    this.#isDraining = true;
    this.#server.drain();
    const untilMs = clock.monotonic() + this.#config.drainMs;
    while (this.#inFlight > 0 && clock.monotonic() < untilMs) await clock.sleep(DRAIN_LOOK_MS);
    this.#server.destroy();
    this.#port = null;
  }

  #ready(): { ready: boolean; reasons: string[] } {
    const reasons = [
      ...(this.#table.isSynced ? [] : ["Services and EndpointSlices have not been listed yet"]),
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

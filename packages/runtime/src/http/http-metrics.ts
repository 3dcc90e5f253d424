import type { FastifyInstance } from "fastify";
import { Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";

const REQUESTS_TOTAL = "isochrone_http_requests_total";
const DURATION_SECONDS = "isochrone_http_request_duration_seconds";
const REJECTED_TOTAL = "isochrone_http_requests_rejected_total";
const REFUSED_TOTAL = "isochrone_http_refused_total";
const IN_FLIGHT = "isochrone_http_requests_in_flight";

/** Why a server refused a request or closed a connection; a metric label. */
export type HttpRefusal =
  | "foreign_host"
  | "foreign_origin"
  | "overloaded"
  | "client_share"
  | "body_budget"
  | "slow_body"
  | "slow_reader"
  | "connection_closed";

export interface HttpMetrics {
  refused(reason: HttpRefusal): void;
  rejected(): void;
  inFlight(count: () => number): void;
  /** Keyed by route pattern, never by path, which clients choose. */
  answered(request: AnsweredRequest): void;
}

interface AnsweredRequest {
  readonly route: string | undefined;
  readonly method: string;
  readonly status: number;
  readonly seconds: number;
}

export function createHttpMetrics(app: FastifyInstance, server: string, registry: Registry): HttpMetrics {
  const metrics = httpMetrics(server, registry);
  app.addHook("onResponse", ({ routeOptions, method }, { statusCode: status, elapsedTime }, done) => {
    metrics.answered({ route: routeOptions.url, method, status, seconds: elapsedTime / 1000 });
    done();
  });
  return metrics;
}

export function httpMetrics(server: string, registry: Registry): HttpMetrics {
  const requests = reuse(registry, REQUESTS_TOTAL, () => {
    return new Counter({
      name: REQUESTS_TOTAL,
      help: "HTTP requests answered.",
      labelNames: ["server", "route", "method", "code"],
      registers: [registry],
    });
  });
  const seconds = reuse(registry, DURATION_SECONDS, () => {
    return new Histogram({
      name: DURATION_SECONDS,
      help: "Time from the first byte of a request to the end of its answer.",
      labelNames: ["server", "route", "method"],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [registry],
    });
  });
  const rejected = reuse(registry, REJECTED_TOTAL, () => {
    return new Counter({
      name: REJECTED_TOTAL,
      help: "HTTP requests turned away because too many were under way.",
      labelNames: ["server"],
      registers: [registry],
    });
  });
  const refused = reuse(registry, REFUSED_TOTAL, () => {
    return new Counter({
      name: REFUSED_TOTAL,
      help: "HTTP requests refused and connections closed to protect the server; reason is foreign_host, foreign_origin, overloaded, client_share, body_budget, slow_body, slow_reader or connection_closed.",
      labelNames: ["server", "reason"],
      registers: [registry],
    });
  });
  const inFlight = reuse(registry, IN_FLIGHT, () => new InFlight(registry));
  return {
    refused: (reason) => refused.inc({ server, reason }),
    rejected: () => rejected.inc({ server }),
    inFlight: (count) => void inFlight.counts.set(server, count),
    answered({ route = "unmatched", method, status, seconds: elapsed }) {
      requests.inc({ server, route, method, code: String(status) });
      seconds.observe({ server, route, method }, elapsed);
    },
  };
}

/** Collected on read, because it changes twice per request. */
class InFlight extends Gauge<"server"> {
  readonly counts = new Map<string, () => number>();

  constructor(registry: Registry) {
    super({
      name: IN_FLIGHT,
      help: "HTTP requests under way.",
      labelNames: ["server"],
      registers: [registry],
      collect: () => {
        for (const [server, count] of this.counts) this.set({ server }, count());
      },
    });
  }
}

/** Servers of one process may share a registry; the label distinguishes them. */
export function reuse<M>(registry: Registry, name: string, create: () => M): M {
  return (registry.getSingleMetric(name) as M | undefined) ?? create();
}

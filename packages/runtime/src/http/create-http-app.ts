import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import { fastify } from "fastify";
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from "fastify";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Registry } from "prom-client";
import type { Logger } from "../log.ts";
import { installErrorHandling } from "./errors.ts";
import { installGates, type RequestGate } from "./gate.ts";
import { installHttpMetrics } from "./http-metrics.ts";
import type { HttpMetrics } from "./http-metrics.ts";
import { problem, sendProblem } from "./problem.ts";
import { ServerTls, type ServerTlsOptions } from "./server-tls.ts";

/** Whether a service can take work, and why not. */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

/** Options of {@link createHttpApp}. */
export interface HttpAppOptions {
  /** Label `server` of the metrics. */
  readonly name: string;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly bodyLimitBytes: number;
  ready(): Readiness | Promise<Readiness>;
  /** Whether routes have schemas by which requests are judged. @default true */
  readonly hasSchemas?: boolean;
  /** Serves an OpenAPI document of the routes that are registered after this call. */
  readonly openapi?: { readonly path: string; readonly title: string; readonly version: string };
  /** Requests under way at once; more are answered with 503 and Retry-After. @default 512 */
  readonly maxConcurrentRequests?: number;
  /** Open connections; more are dropped. @default 4096 */
  readonly maxConnections?: number;
  /** For a request to arrive in full. @default 30000 */
  readonly requestTimeoutMs?: number;
  /** For a route to answer; then the client gets 503 and `request.signal` is aborted. @default 30000 */
  readonly handlerTimeoutMs?: number;
  /** How long an idle connection is kept. @default 65000 */
  readonly keepAliveTimeoutMs?: number;
  /** How long `close` waits for answers in flight before it cuts their connections. @default 5000 */
  readonly closeDeadlineMs?: number;
  /** Serves TLS 1.2 and above only, by certificates that are read again when their files change. @default plain text */
  readonly tls?: ServerTlsOptions | undefined;
  /** Says who may ask for what; health is open in any case. @default everyone, everything */
  readonly gate?: RequestGate | undefined;
  /** Whether /metrics is open even though there is a gate, or clients need certificates. @default true */
  readonly isMetricsOpen?: boolean;
}

/** A fastify instance whose routes take their types from typebox schemas. */
export type HttpApp = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** Paths that every server answers, whatever its load. */
const OWN_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);

/** A server, not listening yet, with errors, health, readiness, metrics and limits in place. */
export async function createHttpApp(options: HttpAppOptions): Promise<HttpApp> {
  const requestTimeoutMs = options.requestTimeoutMs ?? 30_000;
  const tls = options.tls === undefined ? null : await ServerTls.load(options.tls, options);
  // node looks for late requests this often; its own default of 30 s would let them stay much longer
  const server = { connectionsCheckingInterval: Math.min(5000, Math.ceil(requestTimeoutMs / 2)) };
  const app = fastify({
    logger: false,
    ...(tls === null ? { http: server } : { https: { ...server, ...tls.serverOptions } as unknown as null }),
    bodyLimit: options.bodyLimitBytes,
    requestTimeout: requestTimeoutMs,
    handlerTimeout: options.handlerTimeoutMs ?? 30_000,
    keepAliveTimeout: options.keepAliveTimeoutMs ?? 65_000,
    exposeHeadRoutes: true,
    forceCloseConnections: "idle",
  }).withTypeProvider<TypeBoxTypeProvider>();
  // left above requestTimeout, node would swap the two and let slow bodies stay for this long
  app.server.headersTimeout = Math.min(requestTimeoutMs, app.server.headersTimeout);
  app.server.maxConnections = options.maxConnections ?? 4096;
  const plain = app as unknown as FastifyInstance;
  if (options.hasSchemas ?? true) (await import("./validator.ts")).installValidation(plain);
  installErrorHandling(plain, options.logger);
  const metrics = installHttpMetrics(plain, options.name, options.registry);
  installOverloadGuard(plain, options.maxConcurrentRequests ?? 512, metrics);
  installGates(
    plain,
    [tls?.gate, options.gate].filter((gate) => gate !== undefined && gate !== null),
  );
  tls?.install(plain);
  installClose(plain, options.closeDeadlineMs ?? 5000);
  if (options.openapi) await installOpenapi(plain, options.openapi);
  installOwnRoutes(plain, options);
  return app;
}

function installOwnRoutes(app: FastifyInstance, options: HttpAppOptions): void {
  const { registry } = options;
  const hidden = { schema: { hide: true } as object };
  app.get("/healthz", hidden, () => ({ status: "ok" }));
  app.get("/readyz", hidden, async (_request, reply) => {
    const state = await options.ready();
    return reply.code(state.ready ? 200 : 503).send({ ready: state.ready, reasons: state.reasons });
  });
  const metrics = { ...hidden, config: { isOpen: options.isMetricsOpen ?? true } };
  app.get("/metrics", metrics, async (_request, reply) => {
    return reply.type(registry.contentType).send(await registry.metrics());
  });
}

function installOverloadGuard(app: FastifyInstance, maxConcurrent: number, metrics: HttpMetrics): void {
  const underWay = new WeakSet<ServerResponse>();
  let count = 0;
  app.addHook("onRequest", async (request, reply) => {
    if (count >= maxConcurrent && !OWN_PATHS.has(request.routeOptions.url ?? "")) {
      metrics.rejected();
      void reply.header("retry-after", "1");
      return sendProblem(
        reply,
        problem(503, { code: "overloaded", detail: "too many requests are under way" }),
      );
    }
    underWay.add(reply.raw);
    metrics.inFlight(++count);
    // "close" comes for answers that were sent and for clients that went away; onResponse misses some of those
    reply.raw.once("close", () => {
      if (underWay.delete(reply.raw)) metrics.inFlight(--count);
    });
    return undefined;
  });
}

// Fastify's close ends idle connections and waits for the others without a limit.
function installClose(app: FastifyInstance, deadlineMs: number): void {
  app.addHook("preClose", async () => {
    const timer = setTimeout(() => app.server.closeAllConnections(), deadlineMs);
    timer.unref();
    app.server.once("close", () => clearTimeout(timer));
  });
}

async function installOpenapi(
  app: FastifyInstance,
  { path, title, version }: { readonly path: string; readonly title: string; readonly version: string },
): Promise<void> {
  const { default: swagger } = await import("@fastify/swagger");
  await app.register(swagger, { openapi: { openapi: "3.1.0", info: { title, version } } });
  app.get(path, { schema: { hide: true } }, () => app.swagger());
}

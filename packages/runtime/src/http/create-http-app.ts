import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import { fastify } from "fastify";
import type { FastifyBaseLogger, FastifyInstance, FastifyServerFactory, RawServerDefault } from "fastify";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Registry } from "prom-client";
import type { Logger } from "../log.ts";
import { installBodyLimits } from "./bodies.ts";
import { ConnectionGuard } from "./connection-guard.ts";
import { installCrossSiteGuard, NO_HOSTS, type AllowedHosts } from "./cross-site.ts";
import { installErrorHandling } from "./errors.ts";
import { installGates, type RequestGate } from "./gate.ts";
import { CLOSE_DEADLINE_MS, MAX_CONNECTIONS, SERVER_TIMES, type Readiness } from "./defaults.ts";
import { installJsonDoor } from "./json-door.ts";
import { createHttpMetrics, type HttpMetrics } from "./http-metrics.ts";
import { installOverloadGuard } from "./overload-guard.ts";
import { createTlsServer, installConnectionClose } from "./tls-server.ts";
import { ServerTls, type ServerTlsOptions } from "./server-tls.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The handler is synchronous and needs no timeout, which costs a tenth of a short answer. */
    readonly answersAtOnce?: boolean;
  }
}

export interface HttpAppOptions {
  readonly name: string;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly bodyLimitBytes: number;
  ready(): Readiness | Promise<Readiness>;
  readonly hasSchemas?: boolean;
  readonly openapi?: { readonly path: string; readonly title: string; readonly version: string };
  /** Concurrent requests, half of them per client; more are answered with 503. @default 512 */
  readonly maxConcurrentRequests?: number;
  readonly maxConnections?: number;
  /** Bytes of all bodies in memory. @default eight bodies of the largest size, and 16 MiB */
  readonly bodyBudgetBytes?: number;
  /** Time allowed for a body besides its bytes at the least rate. @default 5000 */
  readonly bodyGraceMs?: number;
  readonly allowedHosts?: AllowedHosts;
  /** Time for a complete request. @default 30000 */
  readonly requestTimeoutMs?: number;
  /** Time for a route; afterwards the client gets 503 and `request.signal` is aborted. @default 30000 */
  readonly handlerTimeoutMs?: number;
  readonly keepAliveTimeoutMs?: number;
  /** Time that `close` waits for answers before it cuts connections. @default 5000 */
  readonly closeDeadlineMs?: number;
  readonly tls?: ServerTlsOptions | undefined;
  readonly gate?: RequestGate | undefined;
  /** Whether /metrics is open despite a gate or client certificates. @default true */
  readonly isMetricsOpen?: boolean;
}

export type HttpApp = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** A decompressed body may be several times larger; small ones are many. */
const BODIES_AT_ONCE = 8;
const SMALL_BODIES_BYTES = 16 * 1024 * 1024;

export async function createHttpApp(options: HttpAppOptions): Promise<HttpApp> {
  const requestTimeoutMs = options.requestTimeoutMs ?? SERVER_TIMES.requestTimeout;
  const tls = options.tls === undefined ? null : await ServerTls.load(options.tls, options);
  const keepAliveTimeout = options.keepAliveTimeoutMs ?? SERVER_TIMES.keepAliveTimeout;
  // Node checks for late requests this often; its own default of 30 s would let them stay much longer.
  const halfRequestMs = Math.ceil(requestTimeoutMs / 2);
  const connectionsCheckingInterval = Math.min(SERVER_TIMES.connectionsCheckingInterval, halfRequestMs);
  // Above requestTimeout, Node would swap the two and let slow bodies stay for this long.
  const headersTimeout = Math.min(requestTimeoutMs, SERVER_TIMES.headersTimeout);
  const times = {
    connectionsCheckingInterval,
    headersTimeout,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout,
  };
  const tlsServer = ({ serverOptions }: ServerTls): FastifyServerFactory => {
    return (handler) =>
      createTlsServer({ tls: serverOptions, times }, handler as never) as unknown as RawServerDefault;
  };
  const app = fastify({
    logger: false,
    ...(tls === null ? { http: times } : { serverFactory: tlsServer(tls) }),
    bodyLimit: options.bodyLimitBytes,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout,
    exposeHeadRoutes: true,
    forceCloseConnections: "idle",
  }).withTypeProvider<TypeBoxTypeProvider>();
  const handlerTimeout = options.handlerTimeoutMs ?? 30_000;
  app.addHook("onRoute", (route) => {
    if (route.config?.answersAtOnce !== true) route.handlerTimeout ??= handlerTimeout;
  });
  const plain = app as unknown as FastifyInstance;
  if (options.hasSchemas ?? true) (await import("./validator.ts")).installValidation(plain);
  installErrorHandling(plain, options.logger);
  installJsonDoor(plain);
  const metrics = createHttpMetrics(plain, options.name, options.registry);
  installProtection(plain, options, metrics);
  installGates(
    plain,
    [tls?.gate, options.gate].filter((gate) => gate !== undefined && gate !== null),
  );
  tls?.install(plain);
  if (tls !== null) installConnectionClose(plain);
  if (options.openapi) await installOpenapi(plain, options.openapi);
  installOwnRoutes(plain, options);
  return app;
}

/** Before the gates, so that excessive and foreign requests cost no authentication. */
function installProtection(app: FastifyInstance, options: HttpAppOptions, metrics: HttpMetrics): void {
  const { allowedHosts, maxConnections, maxConcurrentRequests, bodyLimitBytes, bodyBudgetBytes } = options;
  installCrossSiteGuard(app, allowedHosts ?? NO_HOSTS, metrics);
  const connections = new ConnectionGuard(app.server, maxConnections ?? MAX_CONNECTIONS, metrics);
  installClose(app, connections, options.closeDeadlineMs ?? CLOSE_DEADLINE_MS);
  installOverloadGuard(app, maxConcurrentRequests ?? 512, metrics, connections);
  installBodyLimits(app, {
    totalBytes: bodyBudgetBytes ?? BODIES_AT_ONCE * bodyLimitBytes + SMALL_BODIES_BYTES,
    graceMs: options.bodyGraceMs,
    handlerTimeoutMs: options.handlerTimeoutMs,
    onRefused: (reason) => metrics.refused(reason),
  });
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
  let rendering: Promise<string> | null = null;
  app.get("/metrics", metrics, async (_request, reply) => {
    // One rendering serves all concurrent requests, because it is served at any load.
    rendering ??= registry.metrics().finally(() => (rendering = null));
    return reply.type(registry.contentType).send(await rendering);
  });
}

// Fastify's close ends idle connections and waits for the others without a limit.
function installClose(app: FastifyInstance, connections: ConnectionGuard, deadlineMs: number): void {
  app.addHook("preClose", async () => {
    connections.closeUnused();
    const timer = setTimeout(() => connections.closeAll(), deadlineMs);
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

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
    /**
     * The handler never waits, so that no time limit is set for it: a timer and a signal take a tenth of the
     * time of a short answer.
     */
    readonly answersAtOnce?: boolean;
  }
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
  /**
   * Requests under way at once, of one client half of them; more are answered with 503 and Retry-After.
   * @default 512
   */
  readonly maxConcurrentRequests?: number;
  /** Open connections; for more, idle ones are closed. @default 4096 */
  readonly maxConnections?: number;
  /** Bytes of all bodies in memory together. @default eight bodies of the largest size, and 16 MiB */
  readonly bodyBudgetBytes?: number;
  /** For a body to arrive, beside what its bytes take at the least rate. @default 5000 */
  readonly bodyGraceMs?: number;
  /** Names by which a server on a loopback address may be reached beside its own. @default none */
  readonly allowedHosts?: AllowedHosts;
  /** For a request to arrive in full. @default 30000 */
  readonly requestTimeoutMs?: number;
  /** For a route to answer; then the client gets 503 and `request.signal` is aborted. @default 30000 */
  readonly handlerTimeoutMs?: number;
  /** How long an idle connection is kept. @default 65000 */
  readonly keepAliveTimeoutMs?: number;
  /** How long `close` waits for answers in flight before it cuts their connections. @default 5000 */
  readonly closeDeadlineMs?: number;
  /**
   * Serves TLS 1.2 and above only, by certificates that are read again when their files change.
   * @default plain text
   */
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

/** An unpacked body may be several times as large as what came; small ones are many. */
const BODIES_AT_ONCE = 8;
const SMALL_BODIES_BYTES = 16 * 1024 * 1024;

/** A server, not listening yet, with errors, health, readiness, metrics and limits in place. */
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

/**
 * Before the gates: what comes too often, too large or from a foreign page costs no question about who asks.
 */
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
    // This page is for all who ask at once, since it is answered whatever the load.
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

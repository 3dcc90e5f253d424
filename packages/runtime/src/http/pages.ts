// Serves /healthz, /readyz and /metrics like createHttpApp, on Node's own server: fastify takes 10 MB, and
// some processes run on every node.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Registry } from "prom-client";
import type { Logger } from "../log.ts";
import { ConnectionGuard } from "./connection-guard.ts";
import { CrossSiteGuard, NO_HOSTS, placeOf } from "./cross-site.ts";
import { CLOSE_DEADLINE_MS, MAX_CONNECTIONS, SERVER_TIMES, type Readiness } from "./defaults.ts";
import { httpMetrics, type HttpMetrics } from "./http-metrics.ts";
import { listen } from "./listen.ts";
import { problem, type Problem } from "./problem.ts";

interface PagesOptions {
  readonly name: string;
  readonly logger: Logger;
  readonly registry: Registry;
  ready(): Readiness | Promise<Readiness>;
  readonly host: string;
  readonly port: number;
  readonly setting: string;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Pages {
  start(): Promise<void>;
  stop(): Promise<void>;
  readonly url: string;
}

const JSON_TYPE = "application/json; charset=utf-8";

export function createPages(options: PagesOptions): Pages {
  return new PagesServer(options);
}

class PagesServer implements Pages {
  readonly #options: PagesOptions;
  readonly #server: Server;
  readonly #metrics: HttpMetrics;
  readonly #connections: ConnectionGuard;
  readonly #crossSite = new CrossSiteGuard(NO_HOSTS);
  readonly #pages: Readonly<Record<string, () => Promise<Answer>>> = {
    "/healthz": async () => ({ status: 200, type: JSON_TYPE, body: JSON.stringify({ status: "ok" }) }),
    "/readyz": () => this.#readiness(),
    "/metrics": () => this.#exposition(),
  };
  #rendering: Promise<string> | null = null;
  #isClosing = false;
  #url = "";

  constructor(options: PagesOptions) {
    this.#options = options;
    this.#server = createServer(SERVER_TIMES, (request, response) => void this.#serve(request, response));
    this.#metrics = httpMetrics(options.name, options.registry);
    this.#metrics.inFlight(() => 0);
    this.#connections = new ConnectionGuard(this.#server, MAX_CONNECTIONS, this.#metrics);
  }

  get url(): string {
    return this.#url;
  }

  async start(): Promise<void> {
    const server = this.#server;
    const opened = ({ host, port }: { host: string; port: number }): Promise<void> =>
      new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen(port, host, () => {
          server.off("error", reject);
          resolve();
        });
      });
    ({ url: this.#url } = await listen({ server, listen: opened }, this.#options));
  }

  async stop(): Promise<void> {
    this.#isClosing = true;
    this.#connections.closeUnused();
    const timer = setTimeout(() => this.#server.closeAllConnections(), CLOSE_DEADLINE_MS);
    await new Promise<void>((resolve) => void this.#server.close(() => resolve()));
    clearTimeout(timer);
  }

  /** Never rejects. */
  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const beganMs = performance.now();
    const { method = "", url = "/", headers, socket } = request;
    const path = url.split("?", 1)[0] ?? "/";
    const page = Object.hasOwn(this.#pages, path) ? this.#pages[path] : undefined;
    const connection = this.#connections.busy(socket);
    response.once("close", () => {
      if (connection !== null) this.#connections.answered(connection);
    });
    response.once("finish", () =>
      this.#metrics.answered({
        route: page === undefined || !isRead(method) ? undefined : path,
        method,
        status: response.statusCode,
        seconds: (performance.now() - beganMs) / 1000,
      }),
    );
    const refusal = this.#crossSite.check({ method, headers }, () => placeOf(this.#server.address()));
    if (refusal !== null)
      this.#metrics.refused(refusal.code === "foreign_host" ? "foreign_host" : "foreign_origin");
    const answer = refusal === null ? await this.#answer(page, method, path) : answerOf(refusal);
    if (this.#isClosing || hasBody(request)) response.setHeader("connection", "close");
    response.setHeader("x-content-type-options", "nosniff");
    const { status, type, body } = answer;
    const lengths = { "content-type": type, "content-length": Buffer.byteLength(body) };
    response.writeHead(status, { ...answer.headers, ...lengths });
    response.end(method === "HEAD" ? undefined : body);
  }

  async #answer(page: (() => Promise<Answer>) | undefined, method: string, path: string): Promise<Answer> {
    if (page === undefined) return answerOf(problem(404, { code: "not_found", detail: "no such resource" }));
    if (!isRead(method)) {
      const refusal = problem(405, { code: "method_not_allowed", detail: "use GET or HEAD" });
      return { ...answerOf(refusal), headers: { allow: "GET, HEAD" } };
    }
    try {
      return await page();
    } catch (error) {
      this.#options.logger.error("request failed", { method, route: path, error });
      return answerOf(problem(500, { code: "internal" }));
    }
  }

  async #readiness(): Promise<Answer> {
    const { ready, reasons } = await this.#options.ready();
    return { status: ready ? 200 : 503, type: JSON_TYPE, body: JSON.stringify({ ready, reasons }) };
  }

  /** One rendering serves all concurrent requests, because it is served at any load. */
  async #exposition(): Promise<Answer> {
    const { registry } = this.#options;
    this.#rendering ??= registry.metrics().finally(() => (this.#rendering = null));
    return { status: 200, type: registry.contentType, body: await this.#rendering };
  }
}

function answerOf(refusal: Problem): Answer {
  return { status: refusal.status, type: "application/problem+json", body: JSON.stringify(refusal) };
}

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

function hasBody({ headers }: IncomingMessage): boolean {
  const { "transfer-encoding": encoding, "content-length": length } = headers;
  return encoding !== undefined || Number(length ?? 0) > 0;
}

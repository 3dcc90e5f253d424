// The webhook's listener: TLS only, few paths, and bounds on all input.
import { createServer, type Server } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { KeyPair } from "@isochrone/kubernetes";
import { listen } from "@isochrone/runtime/http";
import type { ListenAddress } from "@isochrone/runtime/http";
import { REVIEW_PATHS } from "./gate-rules.ts";
import type { ReviewPath } from "./gate-rules.ts";
import type { FaultReason } from "./metrics.ts";
import { FORWARDED } from "./leader-forwarding.ts";
import { pathOf } from "./registration.ts";

interface WebhookServerOptions {
  readonly host: string;
  readonly port: number;
  readonly maxBodyBytes: number;
  readonly answer: (entry: ReviewPath, body: string, isForwarded: boolean) => Answer | Promise<Answer>;
  readonly onFault: (reason: FaultReason) => void;
  readonly onError: (error: unknown) => void;
  /** Seconds from a request's last byte to its answer. */
  readonly onAnswer: (seconds: number) => void;
  readonly monotonicMs: () => number;
}

type Answer = string | { readonly detail: string };

const MIN_VERSION = "TLSv1.2";
/** The API server gives up earlier. */
const REQUEST_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 120_000;
const MAX_CONNECTIONS = 1_024;
const MAX_BODIES = 16;
const LINGER_MS = 5_000;
const CLOSE_WITHIN_MS = 3_000;
const PATHS: ReadonlyMap<string, ReviewPath> = new Map(REVIEW_PATHS.map((entry) => [pathOf(entry), entry]));

export class WebhookServer {
  readonly #options: WebhookServerOptions;
  #server: Server | null = null;
  #address: ListenAddress | null = null;
  #bytesUnderWay = 0;

  constructor(options: WebhookServerOptions) {
    this.#options = options;
  }

  get address(): ListenAddress | null {
    return this.#address;
  }

  /** Starts listening with the first pair; later pairs apply to new connections. Throws ListenError. */
  async serveWith({ certificate: cert, key }: KeyPair): Promise<void> {
    const context = { cert, key, minVersion: MIN_VERSION } as const;
    if (this.#server !== null) return this.#server.setSecureContext(context);
    const server = createServer(
      { ...context, requestTimeout: REQUEST_TIMEOUT_MS, connectionsCheckingInterval: 1_000 },
      (request, response) => this.#take(request, response),
    );
    server.headersTimeout = REQUEST_TIMEOUT_MS;
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    server.maxConnections = MAX_CONNECTIONS;
    const { host, port } = this.#options;
    const listening = {
      listen: (where: { host: string; port: number }) =>
        new Promise<void>((resolve, reject) => {
          server.once("error", reject);
          server.listen(where.port, where.host, () => {
            server.off("error", reject);
            resolve();
          });
        }),
      server,
    };
    this.#address = await listen(listening, { host, port, setting: "webhook.port" });
    this.#server = server;
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    const timer = setTimeout(() => server.closeAllConnections(), CLOSE_WITHIN_MS);
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeIdleConnections();
    });
    clearTimeout(timer);
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const { onFault, onError } = this.#options;
    const path = (request.url ?? "").split("?", 1)[0]!;
    if (path === "/healthz") return this.#say(request, response, 200, "ok", "text/plain");
    const entry = PATHS.get(path);
    if (entry === undefined || request.method !== "POST") {
      onFault("not_found");
      return this.#refuse(request, response, 404, `there is nothing at ${request.method} of this path`);
    }
    this.#read(request, response, entry).catch((error: unknown) => {
      onFault("internal");
      onError(error);
      this.#refuse(request, response, 500, "the review could not be judged");
    });
  }

  async #read(request: IncomingMessage, response: ServerResponse, entry: ReviewPath): Promise<void> {
    const { maxBodyBytes, onFault } = this.#options;
    const chunks: Buffer[] = [];
    let bytes = 0;
    const declared = Number(request.headers["content-length"] ?? 0);
    try {
      if (declared > maxBodyBytes) return this.#tooLarge(request, response);
      // The rest of a refused body is read and discarded: see #say.
      for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        bytes += chunk.length;
        this.#bytesUnderWay += chunk.length;
        if (bytes > maxBodyBytes) return this.#tooLarge(request, response);
        if (this.#bytesUnderWay <= maxBodyBytes * MAX_BODIES) continue;
        onFault("overloaded");
        return this.#refuse(request, response, 503, "too many reviews are under way");
      }
    } catch {
      return onFault("aborted");
    } finally {
      this.#bytesUnderWay -= bytes;
    }
    await this.#answer(request, response, entry, Buffer.concat(chunks).toString());
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    entry: ReviewPath,
    body: string,
  ): Promise<void> {
    const { answer, onAnswer, monotonicMs } = this.#options;
    const beganMs = monotonicMs();
    const said = await answer(entry, body, request.headers[FORWARDED] !== undefined);
    if (typeof said === "string") this.#say(request, response, 200, said, "application/json");
    else this.#refuse(request, response, 400, said.detail);
    onAnswer((monotonicMs() - beganMs) / 1000);
  }

  #tooLarge(request: IncomingMessage, response: ServerResponse): void {
    const { maxBodyBytes, onFault } = this.#options;
    onFault("too_large");
    this.#refuse(request, response, 413, `the body must have at most ${maxBodyBytes} bytes`);
  }

  #refuse(request: IncomingMessage, response: ServerResponse, status: number, detail: string): void {
    const text = JSON.stringify({ type: "about:blank", status, detail });
    this.#say(request, response, status, text, "application/problem+json");
  }

  #say(request: IncomingMessage, response: ServerResponse, status: number, text: string, type: string): void {
    if (response.headersSent) return;
    const length = Buffer.byteLength(text);
    const connection = this.#server === null ? { connection: "close" } : {};
    response.writeHead(status, { "content-type": type, "content-length": length, ...connection });
    if (request.complete) return void response.end(text);
    // Closing at once may reset the connection, and a client that still sends would miss the answer.
    response.write(text);
    const timer = setTimeout(() => request.destroy(), LINGER_MS);
    request.once("end", () => response.end());
    request.once("close", () => clearTimeout(timer));
    request.resume();
  }
}

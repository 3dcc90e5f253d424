import { request } from "node:http";
import type {
  Agent,
  IncomingHttpHeaders,
  IncomingMessage,
  OutgoingHttpHeaders,
  ServerResponse,
} from "node:http";
import { FLAGS } from "./metrics.ts";
import type { Flag, Outcome } from "./metrics.ts";
import type { SocketAddress } from "../ports.ts";

/** Buffers request bodies, so that a request on a connection just closed by the peer can be resent. */
const MAX_REQUEST_BYTES = 8 * 1024 * 1024;

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly target: SocketAddress;
  readonly agent: Agent;
  readonly timeoutMs: number;
  /** Headers to set (string) or remove (undefined). */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly monotonic: (this: void) => number;
  done(this: void, outcome: Outcome): void;
}

/** Answers 503 if the target is unreachable and 504 if it is too slow. */
export function forward(exchange: Exchange): void {
  const startedMs = exchange.monotonic();
  const chunks: Buffer[] = [];
  let bytes = 0;
  exchange.incoming.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= MAX_REQUEST_BYTES) chunks.push(chunk);
  });
  exchange.incoming.on("end", () => {
    const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    if (bytes <= MAX_REQUEST_BYTES) new Attempt(exchange, body, startedMs).send();
    else new Attempt(exchange, Buffer.alloc(0), startedMs).refuse(413, FLAGS.none);
  });
  exchange.incoming.on("error", () => exchange.outgoing.destroy());
}

export function refuse(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  code: number,
  reason: string,
): void {
  incoming.resume();
  outgoing.writeHead(code, { "content-type": "text/plain" });
  outgoing.end(`${reason}\n`);
}

class Attempt {
  readonly #exchange: Exchange;
  readonly #body: Buffer;
  readonly #startedMs: number;
  readonly #timer: NodeJS.Timeout;
  #upstream: ReturnType<typeof request> | null = null;
  #responseBytes = 0;
  #over = false;

  constructor(exchange: Exchange, body: Buffer, startedMs: number) {
    this.#exchange = exchange;
    this.#body = body;
    this.#startedMs = startedMs;
    this.#timer = setTimeout(() => this.refuse(504, FLAGS.upstreamTimeout), exchange.timeoutMs);
    exchange.outgoing.on("close", () => {
      if (!exchange.outgoing.writableFinished) this.#finish(0, FLAGS.downstreamTermination);
    });
  }

  send(): void {
    const { incoming, target, agent, headers } = this.#exchange;
    const upstream = request({
      agent,
      host: target.host,
      port: target.port,
      method: incoming.method ?? "GET",
      path: incoming.url ?? "/",
      headers: requestHeaders(incoming.headers, headers, this.#body.length),
    });
    this.#upstream = upstream;
    upstream.on("response", (response) => this.#relay(response));
    upstream.on("error", (error: NodeJS.ErrnoException) => {
      if (this.#over) return;
      // The peer closed a kept connection at that moment without processing anything: retry on a new one.
      if (upstream.reusedSocket && error.code === "ECONNRESET" && !this.#exchange.outgoing.headersSent)
        this.send();
      else this.refuse(503, FLAGS.connectionFailure);
    });
    upstream.end(this.#body);
  }

  /** Answers from the proxy; breaks the connection if the head was already sent. */
  refuse(code: number, flag: Flag): void {
    if (this.#over) return;
    const { outgoing } = this.#exchange;
    this.#finish(code, flag);
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(code, { "content-type": "text/plain" }).end(`upstream failed (${flag})\n`);
  }

  #relay(response: IncomingMessage): void {
    if (this.#over) return void response.destroy();
    const { outgoing } = this.#exchange;
    const code = response.statusCode ?? 502;
    outgoing.writeHead(code, responseHeaders(response.headers));
    response.on("data", (chunk: Buffer) => {
      this.#responseBytes += chunk.length;
      if (!outgoing.write(chunk)) response.pause();
    });
    outgoing.on("drain", () => response.resume());
    response.on("end", () => {
      this.#finish(code, FLAGS.none);
      outgoing.end();
    });
    response.on("error", () => this.refuse(503, FLAGS.connectionTermination));
  }

  #finish(code: number, flag: Flag): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#timer);
    if (flag !== FLAGS.none) this.#upstream?.destroy();
    const { monotonic, done } = this.#exchange;
    const durationMs = monotonic() - this.#startedMs;
    done({ code, flag, requestBytes: this.#body.length, responseBytes: this.#responseBytes, durationMs });
  }
}

function requestHeaders(
  from: IncomingHttpHeaders,
  changes: Readonly<Record<string, string | undefined>>,
  bodyBytes: number,
): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { ...from };
  delete headers["connection"];
  delete headers["transfer-encoding"];
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) delete headers[name];
    else headers[name] = value;
  }
  headers["content-length"] = bodyBytes;
  return headers;
}

function responseHeaders(from: IncomingHttpHeaders): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { ...from };
  delete headers["connection"];
  delete headers["keep-alive"];
  delete headers["transfer-encoding"];
  return headers;
}

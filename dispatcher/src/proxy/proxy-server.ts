// One port for HTTP/1.1 and HTTP/2 without TLS, detected by the first bytes.
import { boundPort, codeOf } from "@isochrone/primitives";
import { ConnectionGuard } from "@isochrone/runtime/http";
import {
  createServer as createHttp1,
  ServerResponse,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
} from "node:http";
import {
  createServer as createHttp2,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
  type Http2Server,
  type ServerHttp2Session,
} from "node:http2";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Client } from "./client-response.ts";
import { guarded } from "./guarded.ts";
import type { RequestHead } from "./target.ts";

export interface Arrival extends Client {
  readonly head: RequestHead;
}

type GuardedConnection = ReturnType<ConnectionGuard["busy"]>;

interface ProxyServerOptions {
  readonly host: string;
  readonly port: number;
  readonly maxConnections: number;
  /** @param clientKey whose share it uses: the client's address, or its /64 network */
  readonly onRequest: (arrival: Arrival, clientKey: string) => void;
  readonly onClosedConnection: (reason: "connections" | "pipelined") => void;
}

/** Preface of HTTP/2; no HTTP/1.1 method begins like it. */
const PREFACE = Buffer.from("PRI");
const HEADERS_TIMEOUT_MS = 10_000;
/** Idle timeout of connections; long, because streams may be slow. */
const IDLE_MS = 300_000;
const MAX_STREAMS = 250;
/** Pipelined HTTP/1.1 requests per connection. Node.js itself sets no limit. */
const MAX_PIPELINED = 32;
const SWITCHED = 101;
const GONE = "gone";
const MAX_HEADER_BYTES = 16_384;

export class ProxyServer {
  readonly #options: ProxyServerOptions;
  readonly #http1: Server;
  readonly #http2: Http2Server;
  readonly #guard: ConnectionGuard;
  readonly #sockets = new Set<Socket>();
  /** Sockets of sessions, which Node.js hides behind a proxy. */
  readonly #socketOf = new WeakMap<Http2Session, Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  #isClosing = false;

  constructor(options: ProxyServerOptions) {
    this.#options = options;
    this.#http1 = createHttp1(
      {
        headersTimeout: HEADERS_TIMEOUT_MS,
        // Bodies may take any time while they progress.
        requestTimeout: 0,
        keepAliveTimeout: 75_000,
        connectionsCheckingInterval: 5_000,
        noDelay: true,
        shouldUpgradeCallback: wantsWebSocket,
      },
      (request, response) => this.#onHttp1(request, response),
    );
    this.#http1.timeout = IDLE_MS;
    this.#http2 = createHttp2(
      { settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: MAX_HEADER_BYTES } },
      (request, response) => this.#onHttp2(request, response),
    );
    this.#guard = this.#wire();
  }

  listen(): Promise<number> {
    const { host, port } = this.#options;
    return new Promise((resolve, reject) => {
      this.#http1.once("error", (error) =>
        reject(
          new Error(
            `cannot listen on ${host} port ${port}: ${codeOf(error) ?? error.message}; choose another with the setting dispatcher.port`,
            { cause: error },
          ),
        ),
      );
      this.#http1.listen({ host, port }, () => resolve(boundPort(this.#http1)));
    });
  }

  get connections(): number {
    return this.#sockets.size;
  }

  drain(): void {
    this.#isClosing = true;
    this.#http1.close();
    this.#http1.closeIdleConnections();
    for (const session of this.#sessions) session.close();
  }

  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #wire(): ConnectionGuard {
    const http1 = this.#http1;
    const [onHttp1] = http1.listeners("connection");
    http1.removeAllListeners("connection");
    http1.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
      sniff(socket, (isHttp2) => {
        if (!isHttp2) return void onHttp1?.call(http1, socket);
        // Emitted synchronously.
        this.#http2.once("session", (session) => this.#socketOf.set(session, socket));
        this.#http2.emit("connection", socket);
        // After a client's FIN no further requests come, and responses aren't received.
        socket.once("end", () => socket.destroy());
        return undefined;
      });
    });
    http1.on("upgrade", (request, socket: Socket, head) =>
      guarded(
        // Throws if an earlier response on the connection is still pending.
        () => this.#arrived(arrivalOfWebSocket(request, socket, head), this.#guard.busy(socket)),
        () => socket.destroy(),
      )(),
    );
    http1.on("clientError", (_error, socket) => answerMistake(socket));
    this.#http2.on("session", (session) => {
      this.#sessions.add(session);
      session.once("close", () => this.#sessions.delete(session));
      session.setTimeout(IDLE_MS, () => session.close());
      if (this.#isClosing) session.close();
    });
    this.#http2.on("sessionError", () => undefined);
    this.#http2.on("checkContinue", (request, response) =>
      guarded(
        // Throws if the client has reset the stream.
        () => response.writeContinue(),
        () => request.stream.destroy(),
      )(),
    );
    this.#http2.on("checkContinue", (request, response) => this.#onHttp2(request, response));
    const refused = (): void => this.#options.onClosedConnection("connections");
    return new ConnectionGuard(http1, this.#options.maxConnections, { refused });
  }

  #onHttp1(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    if (socket.destroyed) return;
    const connection = this.#guard.busy(socket);
    if (connection !== null && connection.requests > MAX_PIPELINED) {
      this.#options.onClosedConnection("pipelined");
      return void socket.destroy();
    }
    this.#arrived(arrivalOf1(request, response), connection);
  }

  #onHttp2(request: Http2ServerRequest, response: Http2ServerResponse): void {
    const { session, destroyed } = request.stream;
    if (destroyed) return;
    const socket = session === undefined ? undefined : this.#socketOf.get(session);
    if (socket !== undefined) this.#arrived(arrivalOf2(request, response), this.#guard.busy(socket));
  }

  /** Closes the longest idle connection without a request first. */
  #arrived(arrival: Arrival, connection: GuardedConnection): void {
    if (connection !== null) arrival.response.once("close", () => this.#guard.answered(connection));
    this.#options.onRequest(arrival, connection?.key ?? GONE);
  }
}

function sniff(socket: Socket, found: (isHttp2: boolean) => void): void {
  const onTimeout = (): unknown => socket.destroy();
  const onError = (): void => undefined;
  const onEnd = (): unknown => socket.destroy();
  socket.on("error", onError);
  socket.once("end", onEnd);
  socket.setTimeout(HEADERS_TIMEOUT_MS, onTimeout);
  let start = Buffer.alloc(0);
  const onReadable = (): void => {
    const more: unknown = socket.read();
    if (!Buffer.isBuffer(more)) return;
    // Unshift only when enough has arrived, because it emits `readable` at once.
    start = Buffer.concat([start, more]);
    const isShort = start.length < PREFACE.length && PREFACE.subarray(0, start.length).equals(start);
    if (isShort) return;
    socket.unshift(start);
    socket.removeListener("readable", onReadable);
    socket.removeListener("end", onEnd);
    socket.removeListener("timeout", onTimeout);
    socket.setTimeout(0);
    found(start.subarray(0, PREFACE.length).equals(PREFACE));
  };
  socket.on("readable", onReadable);
}

function answerMistake(socket: Duplex): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
}

/**
 * Other upgrades are ignored, as RFC 9110 allows: the request is answered normally. So are requests with a
 * body, whose length header would remain without its bytes.
 */
function wantsWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket" && !hasBodyOf(headers);
}

function hasBodyOf({
  "content-length": length = "0",
  "transfer-encoding": encoding,
}: IncomingHttpHeaders): boolean {
  return encoding !== undefined || Number(length) > 0;
}

/** Node.js has released the socket; it is passed to a response that may refuse or switch. */
function arrivalOfWebSocket(request: IncomingMessage, socket: Socket, head: Buffer): Arrival {
  socket.on("error", () => undefined);
  socket.setTimeout(IDLE_MS, () => socket.destroy());
  if (head.length > 0) socket.unshift(head);
  const response = new ServerResponse(request);
  response.assignSocket(socket);
  response.shouldKeepAlive = false;
  response.once("finish", () => socket.end());
  const { head: asked, ...arrival } = arrivalOf1(request, response);
  return {
    ...arrival,
    head: { ...asked, wantsWebSocket: true },
    socket,
    wasSent: () => response.writableFinished || response.statusCode === SWITCHED,
  };
}

function arrivalOf1(request: IncomingMessage, response: ServerResponse): Arrival {
  const { method = "GET", url = "", headers } = request;
  const hasBody = hasBodyOf(headers);
  return {
    head: { method, url, authority: headers.host ?? "", headers, hasBody, wantsWebSocket: false },
    request,
    response,
    isHttp2: false,
    socket: null,
    wasSent: () => response.writableFinished,
  };
}

function arrivalOf2(request: Http2ServerRequest, response: Http2ServerResponse): Arrival {
  const { method, url, headers, authority, stream } = request;
  return {
    head: {
      method,
      url,
      authority: authority || (headers.host ?? ""),
      headers,
      hasBody: !stream.endAfterHeaders,
      wantsWebSocket: false,
    },
    request,
    response,
    isHttp2: true,
    socket: null,
    // Such a response also reports finishing when its stream was reset.
    wasSent: () => response.writableEnded && stream.rstCode === 0,
  };
}

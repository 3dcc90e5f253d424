// HTTPS with HTTP/2 and HTTP/1.1 on one port. ALPN decides, so clients that know HTTP/1.1 only are served.
// A browser opens at most six HTTP/1.1 connections to a server, and an event stream takes a whole one.
import type { FastifyInstance } from "fastify";
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2";
import type { TLSSocket } from "node:tls";
import { setHttp2Socket, streamOf } from "./request-socket.ts";

/** How an HTTPS server bounds its clients. */
interface TlsServerOptions {
  /** Certificates and whether clients are asked for theirs. */
  readonly tls: object;
  /** Milliseconds, as Node's HTTP/1.1 servers name them. */
  readonly times: {
    readonly requestTimeout: number;
    readonly headersTimeout: number;
    readonly keepAliveTimeout: number;
    readonly connectionsCheckingInterval: number;
  };
}

type Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

/** Requests under way on one connection. A page with twenty tabs holds twenty event streams. */
const MAX_CONCURRENT_STREAMS = 128;
/** The same bound as Node's for HTTP/1.1. */
const MAX_HEADER_BYTES = 16 * 1024;
/**
 * Bounds of one connection, against clients that send only what costs the server work: streams that are
 * opened and reset at once, settings, pings, invalid frames. Node ends the connection beyond them.
 */
const HTTP2_LIMITS = {
  settings: { maxConcurrentStreams: MAX_CONCURRENT_STREAMS, maxHeaderListSize: MAX_HEADER_BYTES },
  /** Megabytes. */
  maxSessionMemory: 10,
  maxSettings: 32,
  maxOutstandingPings: 10,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  /** Resets by the client: at once, and a second from then on. */
  streamResetBurst: 1000,
  streamResetRate: 33,
};

/** Creates the server. It is not listening yet. */
export function createTlsServer({ tls, times }: TlsServerOptions, handler: Handler): Http2SecureServer {
  const sockets = new WeakMap<object, TLSSocket>();
  const serve = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    if (request.httpVersionMajor >= 2) {
      const { stream } = request;
      const socket = stream.session === undefined ? undefined : sockets.get(stream.session);
      // The client left before its request was looked at: nobody would check its certificate.
      if (socket === undefined || stream.destroyed) return void stream.destroy();
      setHttp2Socket(request, socket);
      prepareHttp2(request, times.requestTimeout);
    }
    handler(request, response);
  };
  const options = { ...tls, ...HTTP2_LIMITS, ...times, allowHTTP1: true, noDelay: true };
  const server = createSecureServer(options, serve);
  let newest: TLSSocket | null = null;
  // Node creates the session of a socket in its own listener of the same event.
  server.prependListener("secureConnection", (socket: TLSSocket) => (newest = socket));
  server.on("session", (session) => {
    if (newest !== null) sockets.set(session, newest);
    session.setTimeout(times.keepAliveTimeout, () => session.close());
  });
  server.on("checkContinue", (request, response) => {
    if (request.httpVersionMajor < 2) response.writeContinue();
    // writeContinue throws if the client has reset the stream.
    else if (!request.stream.destroyed) request.stream.additionalHeaders({ ":status": 100 });
    serve(request, response);
  });
  return server;
}

function prepareHttp2(request: Http2ServerRequest, requestTimeoutMs: number): void {
  const { stream } = request;
  request.headers.host = request.authority;
  // Node keeps a stream that the client resets without an error while its answer waits to be sent.
  stream.once("end", () => {
    if (stream.closed) stream.destroy();
  });
  if (stream.endAfterHeaders) return;
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), requestTimeoutMs);
  timer.unref();
  stream.once("end", () => clearTimeout(timer));
  stream.once("close", () => clearTimeout(timer));
  // Reads the rest of a body that was refused, so that its client gets to the answer.
  stream.once("finish", () => stream.resume());
}

/**
 * Translates `Connection: close`, which HTTP/2 does not have: the client finishes what is under way and opens
 * a new connection for the next request.
 */
export function installConnectionClose(app: FastifyInstance): void {
  app.addHook("onSend", (request, reply, _payload, done) => {
    const stream = streamOf(request.raw);
    if (stream === null || !reply.hasHeader("connection")) return done();
    const isClose = reply.getHeader("connection") === "close";
    void reply.removeHeader("connection");
    const { session } = stream;
    if (isClose && session !== undefined) stream.once("close", () => session.close());
    return done();
  });
}

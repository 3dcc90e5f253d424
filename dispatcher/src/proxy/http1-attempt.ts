import { codeOf, reasonOf } from "@isochrone/primitives";
import { request, type Agent, type ClientRequest, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { UpstreamError } from "../ports/errors.ts";
import { passedOnTrailers } from "../domain/headers.ts";
import { isIdempotent } from "../domain/retries.ts";
import type { Address } from "../domain/slices.ts";
import type { Answer, Attempt, Inbound, Outbound } from "./attempt.ts";
import { guarded } from "./guarded.ts";

/** One HTTP/1.1 request. Writes nothing before the connection exists. */
export class Http1Attempt implements Attempt {
  readonly ready: Promise<void>;
  readonly #request: ClientRequest;
  readonly #hasBody: boolean;
  readonly #wantsWebSocket: boolean;
  #fail: (error: UpstreamError) => void = () => undefined;
  #isReady = false;
  #socket: Socket | null = null;
  #bytesBefore = 0;

  constructor(
    agent: Agent | false,
    { address, port }: Address,
    outbound: Outbound,
    connectTimeoutMs: number,
  ) {
    const { method, path, authority, headers, hasBody, wantsWebSocket } = outbound;
    this.#hasBody = hasBody;
    this.#wantsWebSocket = wantsWebSocket;
    const isChunked = hasBody && !("content-length" in headers);
    this.#request = request({
      agent,
      host: address,
      port,
      method,
      path,
      headers: {
        ...headers,
        host: authority,
        ...(isChunked ? { "transfer-encoding": "chunked" } : {}),
        ...(wantsWebSocket ? WEBSOCKET : {}),
      },
    });
    // With fewer bytes than announced, the next request on the connection would count as the rest.
    Object.assign(this.#request, STRICT_LENGTH);
    this.#request.on("error", (error) => this.#fail(this.#faultOf(error)));
    this.ready = new Promise((resolve, reject) => {
      this.#fail = reject;
      const connected = (): void => {
        this.#isReady = true;
        resolve();
      };
      this.#request.once("socket", (socket) => {
        this.#socket = socket;
        this.#bytesBefore = socket.bytesRead;
        if (!this.#request.reusedSocket) whenConnected(socket, this.#request, connectTimeoutMs, connected);
        else if (isIdempotent(method) && !hasBody) connected();
        else afterArrivals(connected);
      });
    });
  }

  send(body: Inbound): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#fail = reject;
      this.#request.once("response", (response) => resolve(answerOf(response)));
      this.#request.once("upgrade", (response, socket: Socket, head) => {
        if (this.#wantsWebSocket && response.headers.upgrade?.toLowerCase() === WEBSOCKET.upgrade)
          return resolve({ ...answerOf(response), switched: { socket, head } });
        socket.destroy();
        reject(new UpstreamError("protocol", "the endpoint switched protocols unasked"));
        return undefined;
      });
      if (!this.#hasBody) this.#request.end();
      else this.#pipe(body);
    });
  }

  abort(): void {
    this.#request.destroy();
  }

  #pipe(body: Inbound): void {
    body.pipe(this.#request, { end: false });
    const end = (): void => {
      const trailers = passedOnTrailers(body.trailers);
      if (Object.keys(trailers).length > 0) this.#request.addTrailers(trailers);
      this.#request.end();
    };
    body.once(
      "end",
      guarded(end, (error) => this.#request.destroy(error)),
    );
  }

  #faultOf(error: Error): UpstreamError {
    const isUntouched = !this.#isReady;
    if (this.#request.reusedSocket && (isUntouched || this.#isClosedUnheard(error)))
      return new UpstreamError("closed", reasonOf(error), { cause: error, isUntouched });
    return new UpstreamError(isUntouched ? "connect" : "reset", reasonOf(error), { cause: error });
  }

  #isClosedUnheard(error: Error): boolean {
    return CLOSED.has(codeOf(error) ?? "") && this.#socket?.bytesRead === this.#bytesBefore;
  }
}

/** Node.js documents it for all outgoing messages; its types only have it for responses. */
const STRICT_LENGTH = { strictContentLength: true };
const CLOSED = new Set(["ECONNRESET", "EPIPE"]);
const WEBSOCKET = { connection: "Upgrade", upgrade: "websocket" };

/**
 * Calls back once all arrived data was read, such as the end of a kept connection: a request that can't be
 * retried must not be written to a closed one. The first turn of the loop ends the current poll, the second
 * does its own.
 */
function afterArrivals(read: () => void): void {
  setImmediate(() => setImmediate(read));
}

function whenConnected(
  socket: Socket,
  request: ClientRequest,
  timeoutMs: number,
  connected: () => void,
): void {
  if (!socket.connecting) return connected();
  const onTimeout = (): unknown => request.destroy(new Error(`no connection within ${timeoutMs} ms`));
  socket.setTimeout(timeoutMs, onTimeout);
  socket.once("connect", () => {
    socket.setTimeout(0);
    socket.removeListener("timeout", onTimeout);
    connected();
  });
  return undefined;
}

function answerOf(response: IncomingMessage): Answer {
  return {
    status: response.statusCode ?? 502,
    headers: response.headers,
    body: response,
    isWhole: false,
    trailers: () => response.trailers,
  };
}

import { reasonOf } from "@isochrone/primitives";
import { request, type Agent, type ClientRequest, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { UpstreamError } from "../ports/errors.ts";
import { passedOnTrailers } from "../domain/headers.ts";
import type { Address } from "../domain/slices.ts";
import type { Answer, Attempt, Inbound, Outbound } from "./attempt.ts";
import { guarded } from "./guarded.ts";

/** One request over HTTP/1.1. Nothing is written before the connection is there. */
export class Http1Attempt implements Attempt {
  readonly ready: Promise<void>;
  readonly #request: ClientRequest;
  readonly #hasBody: boolean;
  readonly #wantsWebSocket: boolean;
  #fail: (error: UpstreamError) => void = () => undefined;
  #isReady = false;

  constructor(agent: Agent, { address, port }: Address, outbound: Outbound, connectTimeoutMs: number) {
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
    // With fewer bytes than announced, the next request on the connection would be taken for the rest.
    Object.assign(this.#request, STRICT_LENGTH);
    this.#request.on("error", (error) => this.#fail(this.#faultOf(error)));
    this.ready = new Promise((resolve, reject) => {
      this.#fail = reject;
      this.#request.once("socket", (socket) =>
        whenConnected(socket, this.#request, connectTimeoutMs, () => {
          this.#isReady = true;
          resolve();
        }),
      );
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
    const code = this.#isReady ? "reset" : "connect";
    return new UpstreamError(code, reasonOf(error), { cause: error });
  }
}

/** Node.js documents it for all outgoing messages; its types have it for answers alone. */
const STRICT_LENGTH = { strictContentLength: true };
/** Headers of one connection, which aren't passed on. */
const WEBSOCKET = { connection: "Upgrade", upgrade: "websocket" };

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

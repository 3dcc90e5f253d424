import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import { Socket } from "node:net";

/**
 * Sockets of HTTP/2 requests. `request.socket` is a proxy there, which a WeakMap does not recognize and which
 * forgets its socket when the client leaves.
 */
const HTTP2_SOCKETS = new WeakMap<object, Socket>();

/** Remembers the socket that an HTTP/2 request came over. */
export function setHttp2Socket(request: object, socket: Socket): void {
  HTTP2_SOCKETS.set(request, socket);
}

/** Returns the connection of a request. Null: the request was made inside this process. */
export function socketOf(request: IncomingMessage): Socket | null {
  const known = HTTP2_SOCKETS.get(request);
  if (known !== undefined) return known;
  return request.socket instanceof Socket ? request.socket : null;
}

/** Returns the HTTP/2 stream of a request or response. Null for HTTP/1.1. */
export function streamOf(message: IncomingMessage | ServerResponse): ServerHttp2Stream | null {
  return "stream" in message && isStream(message.stream) ? message.stream : null;
}

function isStream(value: unknown): value is ServerHttp2Stream {
  return typeof value === "object" && value !== null && "endAfterHeaders" in value;
}

/** Whether the client has left, so that no "close" event is to come. */
export function hasLeft(response: ServerResponse): boolean {
  return response.destroyed || streamOf(response)?.destroyed === true;
}

/** Closes a response's connection (HTTP/1.1) or its stream (HTTP/2) after `ms` without progress. */
export function limitStall(
  response: ServerResponse,
  ms: number,
  onStall: () => void = () => undefined,
): void {
  const stream = streamOf(response);
  if (stream !== null) {
    stream.setTimeout(ms, () => {
      onStall();
      stream.destroy();
    });
    return;
  }
  const { socket } = response;
  if (socket === null) return;
  response.once("timeout", () => {
    onStall();
    socket.destroy();
  });
  // Node counts every byte sent as activity, and sets another limit once the answer has left.
  socket.setTimeout(ms);
}

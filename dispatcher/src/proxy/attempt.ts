import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";

/** What a client asks, over either protocol. */
export interface Inbound extends Readable {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: Readonly<Record<string, string | string[] | undefined>>;
}

/** What goes to an endpoint. */
export interface Outbound {
  readonly method: string;
  readonly path: string;
  readonly authority: string;
  /** Without those of one connection, and without the host. */
  readonly headers: Record<string, string | string[]>;
  readonly hasBody: boolean;
  /** The endpoint is asked to speak WebSocket on this connection from now on. */
  readonly wantsWebSocket: boolean;
}

/** What comes back, when its head is there. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
  /** Nothing follows the head. */
  readonly isWhole: boolean;
  /** Complete when the body has ended. */
  trailers(): IncomingHttpHeaders;
  /** The connection, which isn't HTTP any more, and what came on it already. */
  readonly switched?: { readonly socket: Socket; readonly head: Buffer };
}

/** One try at one endpoint. */
export interface Attempt {
  /** Resolves when there is a connection; nothing of the request was sent. Rejects with UpstreamError. */
  readonly ready: Promise<void>;
  /** Sends the request with the client's body as it comes. Rejects with UpstreamError. */
  send(body: Inbound): Promise<Answer>;
  /** The endpoint is told that nobody wants the answer any more. */
  abort(): void;
}

import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";

export interface Inbound extends Readable {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface Outbound {
  readonly method: string;
  readonly path: string;
  readonly authority: string;
  readonly headers: Record<string, string | string[]>;
  readonly hasBody: boolean;
  /** Asks the endpoint to switch this connection to WebSocket. */
  readonly wantsWebSocket: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
  readonly isWhole: boolean;
  /** Complete when the body has ended. */
  trailers(): IncomingHttpHeaders;
  /** The connection after an upgrade, with data already read. */
  readonly switched?: { readonly socket: Socket; readonly head: Buffer };
}

export interface Attempt {
  /** Resolves when connected, before anything is sent. Rejects with UpstreamError. */
  readonly ready: Promise<void>;
  /** Sends the request and streams the client's body. Rejects with UpstreamError. */
  send(body: Inbound): Promise<Answer>;
  abort(): void;
}

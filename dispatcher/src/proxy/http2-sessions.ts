import { reasonOf } from "@isochrone/primitives";
import { connect, type ClientHttp2Session } from "node:http2";
import { UpstreamError } from "../ports/errors.ts";

/** Streams of one session; an endpoint may allow fewer. */
const MAX_STREAMS = 100;
/** Bytes on the way to the dispatcher on one connection, shared by its streams. */
const WINDOW_BYTES = 1_048_576;

/** Connections to one endpoint. */
const MAX_SESSIONS = 16;
const IDLE_MS = 60_000;

/** A place in a session, to be given back once. */
export interface Place {
  readonly session: ClientHttp2Session;
  release(): void;
}

/** The HTTP/2 connections to one endpoint: another is opened when all have as many streams as they may. */
export class Http2Sessions {
  readonly #url: string;
  readonly #connectTimeoutMs: number;
  readonly #sessions = new Map<ClientHttp2Session, { streams: number }>();
  /** The connection that is being opened: all who come meanwhile wait for it. */
  #opening: Promise<void> | null = null;

  constructor(authority: string, connectTimeoutMs: number) {
    this.#url = `http://${authority}`;
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  /** Rejects with UpstreamError. */
  async acquire(): Promise<Place> {
    for (let opened = 0; ; opened++) {
      const place = this.#free();
      if (place !== null) return place;
      if (opened > 1 || this.#sessions.size >= MAX_SESSIONS)
        throw new UpstreamError("refused_stream", "all connections have as many streams as they may");
      this.#opening ??= this.#open().finally(() => (this.#opening = null));
      await this.#opening;
    }
  }

  #free(): Place | null {
    for (const [session, count] of this.#sessions) {
      const most = Math.min(MAX_STREAMS, session.remoteSettings.maxConcurrentStreams ?? MAX_STREAMS);
      if (session.closed || session.destroyed || count.streams >= most) continue;
      count.streams++;
      return { session, release: () => count.streams-- };
    }
    return null;
  }

  /** Streams under way end as they would. */
  close(): void {
    for (const session of this.#sessions.keys()) session.close();
  }

  destroy(): void {
    for (const session of this.#sessions.keys()) session.destroy();
  }

  #open(): Promise<void> {
    return new Promise((resolve, reject) => {
      const session = connect(this.#url, { settings: { enablePush: false } });
      const count = { streams: 0 };
      const fail = (error: unknown): void =>
        reject(new UpstreamError("connect", reasonOf(error), { cause: error }));
      const onTimeout = (): void =>
        session.destroy(new Error(`no connection within ${this.#connectTimeoutMs} ms`));
      session.setTimeout(this.#connectTimeoutMs, onTimeout);
      session.once("connect", () => {
        session.removeListener("timeout", onTimeout);
        session.setTimeout(IDLE_MS, () => {
          if (count.streams === 0) session.close();
        });
        session.setLocalWindowSize(WINDOW_BYTES);
        this.#sessions.set(session, count);
        resolve();
      });
      session.on("error", fail);
      session.once("goaway", () => this.#sessions.delete(session));
      session.once("close", () => {
        this.#sessions.delete(session);
        fail(new Error("the connection ended"));
      });
    });
  }
}

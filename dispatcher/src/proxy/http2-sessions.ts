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
  /** Whether the connection has carried streams before. */
  readonly isReused: boolean;
  /** Number of the last stream that the endpoint may have worked on, from its GOAWAY; null: it sent none. */
  lastStreamId(): number | null;
  release(): void;
}

interface SessionState {
  /** Under way. */
  streams: number;
  isUsed: boolean;
  lastStreamId: number | null;
}

/** The HTTP/2 connections to one endpoint: another is opened when all have as many streams as they may. */
export class Http2Sessions {
  readonly #url: string;
  readonly #connectTimeoutMs: number;
  readonly #sessions = new Map<ClientHttp2Session, SessionState>();
  /** The connection that is being opened: all who come meanwhile wait for it. */
  #opening: Promise<void> | null = null;
  /** Wake those who wait for a place while all connections are full, first come first served. */
  readonly #waiting = new Set<() => void>();

  constructor(authority: string, connectTimeoutMs: number) {
    this.#url = `http://${authority}`;
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  /** Rejects with UpstreamError: `full` when no place is free in time, which says nothing of the endpoint. */
  async acquire(): Promise<Place> {
    const signal = AbortSignal.timeout(this.#connectTimeoutMs);
    for (let opened = 0; ;) {
      const place = this.#free();
      if (place !== null) return place;
      if (signal.aborted) throw new UpstreamError("full", "all connections have as many streams as they may");
      if (this.#sessions.size >= MAX_SESSIONS) {
        await this.#released(signal);
        continue;
      }
      // An endpoint that accepts connections and ends them at once must not be asked for ever.
      if (opened++ > MAX_SESSIONS) throw new UpstreamError("connect", "its connections end at once");
      this.#opening ??= this.#open().finally(() => (this.#opening = null));
      await this.#opening;
    }
  }

  /** Resolves when a place may be free, or the time is over. */
  #released(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener("abort", wake);
    });
  }

  #wakeNext(): void {
    const [wake] = this.#waiting;
    wake?.();
  }

  #free(): Place | null {
    for (const [session, state] of this.#sessions) {
      const most = Math.min(MAX_STREAMS, session.remoteSettings.maxConcurrentStreams ?? MAX_STREAMS);
      if (session.closed || session.destroyed || state.streams >= most) continue;
      const { isUsed: isReused } = state;
      state.streams++;
      state.isUsed = true;
      const release = (): void => {
        state.streams--;
        this.#wakeNext();
      };
      return { session, isReused, lastStreamId: () => state.lastStreamId, release };
    }
    return null;
  }

  /** Connections that nobody uses may have ended at the other side. */
  closeIdle(): void {
    for (const [session, { streams, isUsed }] of this.#sessions) if (streams === 0 && isUsed) session.close();
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
      const state: SessionState = { streams: 0, isUsed: false, lastStreamId: null };
      // An endpoint that takes the connection and doesn't speak HTTP/2 may be asked so by a client's mistake.
      let code: "connect" | "protocol" = "connect";
      const fail = (error: unknown): void =>
        reject(new UpstreamError(code, reasonOf(error), { cause: error }));
      session.once("connect", () => (code = "protocol"));
      const onTimeout = (): void =>
        session.destroy(new Error(`no connection within ${this.#connectTimeoutMs} ms`));
      session.setTimeout(this.#connectTimeoutMs, onTimeout);
      // The endpoint's first frame says how many streams it takes; more would be refused.
      session.once("remoteSettings", () => {
        session.removeListener("timeout", onTimeout);
        session.setTimeout(IDLE_MS, () => {
          if (state.streams === 0) session.close();
        });
        session.setLocalWindowSize(WINDOW_BYTES);
        this.#sessions.set(session, state);
        resolve();
      });
      session.on("error", fail);
      const forget = (): void => {
        if (this.#sessions.delete(session)) this.#wakeNext();
      };
      session.on("goaway", (_code, lastStreamId) => {
        state.lastStreamId = Math.min(lastStreamId, state.lastStreamId ?? lastStreamId);
        forget();
      });
      session.once("close", () => {
        forget();
        fail(new Error("the connection ended"));
      });
    });
  }
}

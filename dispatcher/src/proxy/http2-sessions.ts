import { reasonOf } from "@isochrone/primitives";
import { connect, type ClientHttp2Session } from "node:http2";
import { UpstreamError } from "../ports/errors.ts";

/** Streams per session; an endpoint may allow fewer. */
const MAX_STREAMS = 100;
/** Receive window of a connection, shared by its streams. */
const WINDOW_BYTES = 1_048_576;

const MAX_SESSIONS = 16;
const IDLE_MS = 60_000;

export interface Place {
  readonly session: ClientHttp2Session;
  readonly isReused: boolean;
  /** Last stream that the endpoint may have processed, from its GOAWAY; null without one. */
  lastStreamId(): number | null;
  release(): void;
}

interface SessionState {
  streams: number;
  isUsed: boolean;
  lastStreamId: number | null;
}

/** HTTP/2 connections to one endpoint; opens another when all are full. */
export class Http2Sessions {
  readonly #url: string;
  readonly #connectTimeoutMs: number;
  readonly #sessions = new Map<ClientHttp2Session, SessionState>();
  #opening: Promise<void> | null = null;
  /** Resolvers of waits for a slot while all connections are full, in order. */
  readonly #waiting = new Set<() => void>();

  constructor(authority: string, connectTimeoutMs: number) {
    this.#url = `http://${authority}`;
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  /** Rejects with UpstreamError: `full` if no slot is free in time, which isn't the endpoint's fault. */
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
      // Bounds retries with an endpoint that accepts connections and closes them at once.
      if (opened++ > MAX_SESSIONS) throw new UpstreamError("connect", "its connections end at once");
      this.#opening ??= this.#open().finally(() => (this.#opening = null));
      await this.#opening;
    }
  }

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

  /** Idle connections may have been closed by the peer. */
  closeIdle(): void {
    for (const [session, { streams, isUsed }] of this.#sessions) if (streams === 0 && isUsed) session.close();
  }

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
      // An endpoint without HTTP/2 may be addressed so by a client's mistake.
      let code: "connect" | "protocol" = "connect";
      const fail = (error: unknown): void =>
        reject(new UpstreamError(code, reasonOf(error), { cause: error }));
      session.once("connect", () => (code = "protocol"));
      const onTimeout = (): void =>
        session.destroy(new Error(`no connection within ${this.#connectTimeoutMs} ms`));
      session.setTimeout(this.#connectTimeoutMs, onTimeout);
      // The endpoint's first frame limits its streams; more would be refused.
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

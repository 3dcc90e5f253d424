import { Agent } from "node:http";
import type { Endpoint } from "../services/endpoint.ts";
import type { Attempt, Outbound } from "./attempt.ts";
import { Http1Attempt } from "./http1-attempt.ts";
import { Http2Attempt } from "./http2-attempt.ts";
import { Http2Sessions } from "./http2-sessions.ts";

const MAX_IDLE = 64;
/** Many servers close idle connections after 5 s: close earlier. */
const IDLE_MS = 4_000;

interface AttemptOptions {
  readonly speaksHttp2: boolean;
  readonly isFresh: boolean;
}

/** Connections to endpoints, kept while slices contain them. */
export class Upstreams {
  readonly #connectTimeoutMs: number;
  readonly #agents = new Map<Endpoint, Agent>();
  readonly #sessions = new Map<Endpoint, Http2Sessions>();

  constructor(connectTimeoutMs: number) {
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  attempt(endpoint: Endpoint, outbound: Outbound, { speaksHttp2, isFresh }: AttemptOptions): Attempt {
    if (speaksHttp2) return new Http2Attempt(this.#sessionsOf(endpoint), outbound, isFresh);
    const agent = isFresh ? false : this.agentOf(endpoint);
    return new Http1Attempt(agent, endpoint.where, outbound, this.#connectTimeoutMs);
  }

  agentOf(endpoint: Endpoint): Agent {
    let agent = this.#agents.get(endpoint);
    if (agent === undefined) {
      agent = new Agent({ keepAlive: true, maxFreeSockets: MAX_IDLE, timeout: IDLE_MS, scheduling: "lifo" });
      this.#agents.set(endpoint, agent);
    }
    return agent;
  }

  /** Lets requests in flight finish; sends nothing new. */
  retire(endpoint: Endpoint): void {
    const agent = this.#agents.get(endpoint);
    for (const sockets of Object.values(agent?.freeSockets ?? {}))
      for (const socket of sockets ?? []) socket.destroy();
    if (agent !== undefined) agent.maxFreeSockets = 0;
    this.#agents.delete(endpoint);
    this.#sessions.get(endpoint)?.close();
    this.#sessions.delete(endpoint);
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
    for (const sessions of this.#sessions.values()) sessions.destroy();
    this.#agents.clear();
    this.#sessions.clear();
  }

  #sessionsOf(endpoint: Endpoint): Http2Sessions {
    let sessions = this.#sessions.get(endpoint);
    if (sessions === undefined) {
      sessions = new Http2Sessions(endpoint.id, this.#connectTimeoutMs);
      this.#sessions.set(endpoint, sessions);
    }
    return sessions;
  }
}

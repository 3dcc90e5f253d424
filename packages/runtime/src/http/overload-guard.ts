import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ServerResponse } from "node:http";
import { clientKey } from "./addresses.ts";
import type { ConnectionGuard } from "./connection-guard.ts";
import type { HttpMetrics } from "./http-metrics.ts";
import { problem, sendProblem } from "./problem.ts";
import { limitStall, socketOf } from "./request-socket.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** A long answer such as an event stream; the route bounds their number. */
    readonly isHeld?: boolean;
  }
}

const OWN_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);

const READER_CHECK_MS = 5_000;
/** How long a client may not read its answer. */
const READER_STALL_MS = 20_000;

interface UnderWay {
  readonly key: string;
  isWatched: boolean;
}

/**
 * Bounds requests in flight: from complete arrival, including the body, until the answer has left, so slow
 * senders use no place. A client may use half of the places; clients behind a proxy or NAT count as one.
 */
export function installOverloadGuard(
  app: FastifyInstance,
  maxConcurrent: number,
  metrics: HttpMetrics,
  connections: ConnectionGuard,
): void {
  const places = new Places(maxConcurrent, metrics);
  const isExempt = ({ routeOptions }: FastifyRequest): boolean =>
    OWN_PATHS.has(routeOptions.url ?? "") || routeOptions.config.isHeld === true;
  const refuse = (reply: FastifyReply, reason: "overloaded" | "client_share"): FastifyReply => {
    metrics.rejected();
    metrics.refused(reason);
    const detail =
      reason === "overloaded"
        ? "too many requests are under way"
        : "too many requests of this client are under way";
    return sendProblem(reply.header("retry-after", "1"), problem(503, { code: "overloaded", detail }));
  };
  app.addHook("onRequest", (request, reply, done) => {
    if (isExempt(request)) return done();
    const reason = places.whyNot(clientKey(request));
    return reason === null ? done() : void refuse(reply, reason);
  });
  // Not async: fastify would consider the request abandoned between the body's end and its handler.
  app.addHook("preValidation", (request, reply, done) => {
    const key = isExempt(request) ? null : clientKey(request);
    const reason = key === null ? null : places.whyNot(key);
    if (key !== null && reason === null) places.take(reply.raw, key);
    const socket = socketOf(request.raw);
    const connection = socket === null ? null : connections.busy(socket);
    // It comes once, for answers that were sent and for clients that went away; onResponse misses some of
    // those.
    reply.raw.on("close", () => {
      places.leave(reply.raw);
      if (connection !== null) connections.answered(connection);
    });
    return reason === null ? done() : void refuse(reply, reason);
  });
  const timer = setInterval(() => places.watchReaders(), READER_CHECK_MS);
  timer.unref();
  app.addHook("onClose", async () => clearInterval(timer));
}

class Places {
  readonly #max: number;
  readonly #share: number;
  readonly #metrics: HttpMetrics;
  readonly #underWay = new Map<ServerResponse, UnderWay>();
  readonly #perClient = new Map<string, number>();

  constructor(max: number, metrics: HttpMetrics) {
    this.#max = max;
    this.#share = Math.ceil(max / 2);
    this.#metrics = metrics;
    metrics.inFlight(() => this.#underWay.size);
  }

  whyNot(key: string): "overloaded" | "client_share" | null {
    if (this.#underWay.size >= this.#max) return "overloaded";
    return this.#of(key) >= this.#share ? "client_share" : null;
  }

  take(response: ServerResponse, key: string): void {
    this.#underWay.set(response, { key, isWatched: false });
    this.#perClient.set(key, this.#of(key) + 1);
  }

  leave(response: ServerResponse): void {
    const key = this.#underWay.get(response)?.key;
    if (key === undefined) return;
    this.#underWay.delete(response);
    const left = this.#of(key) - 1;
    if (left === 0) this.#perClient.delete(key);
    else this.#perClient.set(key, left);
  }

  #of(key: string): number {
    return this.#perClient.get(key) ?? 0;
  }

  /** A client that stops reading would keep its answer in memory, and its place. */
  watchReaders(): void {
    for (const [response, entry] of this.#underWay) {
      if (entry.isWatched || !response.writableEnded) continue;
      entry.isWatched = true;
      limitStall(response, READER_STALL_MS, () => this.#metrics.refused("slow_reader"));
    }
  }
}

// A load between two workloads, counted by who makes it, and what the proxies of each kind of mesh would
// count of it.
import { seededRandom } from "@isochrone/runtime";

/**
 * One request with its answer, in bytes of HTTP/1.1 as the client's socket carries them: start line, headers
 * and body.
 */
export interface Exchange {
  readonly clientPod: string;
  readonly serverPod: string;
  readonly requestBytes: number;
  readonly responseBytes: number;
  readonly status: 200 | 503;
  /** How long the client waited. @default nobody says */
  readonly durationMs?: number;
}

/** Counts every exchange when it has happened, before any proxy does. */
export class CountedLoad {
  readonly #random = seededRandom(11);
  readonly #onExchange: (exchange: Exchange) => void;
  requests = 0;
  failed = 0;
  bytes = 0;

  constructor(onExchange: (exchange: Exchange) => void) {
    this.#onExchange = onExchange;
  }

  /** Makes so many more requests, spread over the pods of both ends. */
  make(requests: number): void {
    for (let i = 0; i < requests; i++) {
      const exchange: Exchange = {
        clientPod: this.#pick(["web-1", "web-2"]),
        serverPod: this.#pick(["db-1", "db-2"]),
        requestBytes: this.#between(400, 1400),
        responseBytes: this.#between(1000, 9000),
        status: this.#random.next() < 0.1 ? 503 : 200,
      };
      this.requests++;
      if (exchange.status === 503) this.failed++;
      this.bytes += exchange.requestBytes + exchange.responseBytes;
      this.#onExchange(exchange);
    }
  }

  #pick(pods: readonly [string, string]): string {
    return this.#random.next() < 0.5 ? pods[0] : pods[1];
  }

  #between(low: number, high: number): number {
    return Math.floor(low + this.#random.next() * (high - low));
  }
}

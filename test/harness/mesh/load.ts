// Load between two workloads as counted by its generator, and as each kind of mesh's proxies count it.
import { seededRandom } from "@isochrone/runtime";

/** A request and its response, in bytes of HTTP/1.1 on the client's socket: start line, headers and body. */
export interface Exchange {
  readonly clientPod: string;
  readonly serverPod: string;
  readonly requestBytes: number;
  readonly responseBytes: number;
  readonly status: 200 | 503;
  readonly durationMs?: number;
}

/** Counts every exchange at completion, before any proxy does. */
export class CountedLoad {
  readonly #random = seededRandom(11);
  readonly #onExchange: (exchange: Exchange) => void;
  requests = 0;
  failed = 0;
  bytes = 0;

  constructor(onExchange: (exchange: Exchange) => void) {
    this.#onExchange = onExchange;
  }

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

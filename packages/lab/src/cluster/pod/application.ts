import { Agent, request } from "node:http";
import type { IncomingMessage, RequestOptions, ServerResponse } from "node:http";
import { SOURCE_WORKLOAD_HEADER, UNKNOWN } from "../names.ts";
import type { Behaviour } from "../manifest/model.ts";
import type { SocketAddress } from "../ports.ts";

export interface ApplicationDependencies {
  readonly workload: string;
  readonly behaviour: Behaviour;
  /** The sidecar's outbound listener. */
  readonly outbound: () => SocketAddress;
  readonly monotonic: () => number;
}

/** A caller that names itself differently each time must not grow the counter without end. */
const MAX_CALLERS = 1_000;

/** The stand-in program of a workload. It counts what it receives by itself, apart from the sidecar, so that the two can be compared. */
export class Application {
  readonly #received = new Map<string, number>();
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: 64 });
  readonly #behaviour: Behaviour;
  readonly #monotonic: () => number;
  readonly #answer: Buffer;
  readonly #requestBody: Buffer;
  readonly #calls: readonly (() => RequestOptions)[];

  constructor({ workload, behaviour, outbound, monotonic }: ApplicationDependencies) {
    this.#behaviour = behaviour;
    this.#monotonic = monotonic;
    this.#answer = Buffer.alloc(behaviour.responseBytes, "x");
    this.#requestBody = Buffer.alloc(behaviour.requestBytes, "x");
    this.#calls = behaviour.calls.map((service) => {
      const headers = {
        host: service,
        [SOURCE_WORKLOAD_HEADER]: workload,
        "content-length": behaviour.requestBytes,
      };
      const method = behaviour.requestBytes > 0 ? "POST" : "GET";
      return () => ({ ...outbound(), method, path: "/", agent: this.#agent, headers });
    });
  }

  /** Requests received, by the caller's workload. */
  received(): Record<string, number> {
    return Object.fromEntries(this.#received);
  }

  /** Handler of the application's listener. */
  readonly handle = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    incoming.resume();
    incoming.on("end", () => {
      this.#count(incoming.headers[SOURCE_WORKLOAD_HEADER]);
      this.#compute();
      this.#callAll((failed) => {
        if (failed === null)
          outgoing.writeHead(200, { "content-length": this.#answer.length }).end(this.#answer);
        else outgoing.writeHead(502, { "content-type": "text/plain" }).end(`callee ${failed} failed\n`);
      });
    });
    incoming.on("error", () => outgoing.destroy());
  };

  /** Closes the kept connections. */
  close(): void {
    this.#agent.destroy();
  }

  #count(header: string | string[] | undefined): void {
    const name = typeof header === "string" ? header : UNKNOWN;
    const known = this.#received.has(name) || this.#received.size < MAX_CALLERS;
    const source = known ? name : UNKNOWN;
    this.#received.set(source, (this.#received.get(source) ?? 0) + 1);
  }

  #compute(): void {
    const endMs = this.#monotonic() + this.#behaviour.cpuMs;
    while (this.#monotonic() < endMs);
  }

  #callAll(done: (failed: string | null) => void): void {
    let left = this.#calls.length;
    let failed: string | null = null;
    if (left === 0) return done(null);
    for (const [index, options] of this.#calls.entries()) {
      this.#call(options(), (ok) => {
        if (!ok) failed ??= this.#behaviour.calls[index]!;
        if (--left === 0) done(failed);
      });
    }
  }

  #call(options: RequestOptions, done: (ok: boolean) => void): void {
    let over = false;
    const finish = (ok: boolean): void => {
      if (!over) done(ok);
      over = true;
    };
    const call = request(options, (response) => {
      response.resume();
      response.on("end", () => finish(response.statusCode === 200));
      response.on("error", () => finish(false));
    });
    call.on("error", () => finish(false));
    call.end(this.#requestBody);
  }
}

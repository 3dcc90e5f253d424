import { Agent, request } from "node:http";
import type { IncomingMessage, RequestOptions, ServerResponse } from "node:http";
import { MAX_BODY_BYTES } from "../manifest/behaviour.ts";
import { LOAD_HEADER, LOAD_PATH, RESPONSE_BYTES_HEADER, SOURCE_WORKLOAD_HEADER, UNKNOWN } from "../names.ts";
import type { Behaviour } from "../manifest/model.ts";
import type { SocketAddress } from "../ports.ts";
import type { Cpu } from "./cpu.ts";

interface ApplicationDependencies {
  readonly workload: string;
  readonly behaviour: Behaviour;
  readonly outbound: () => SocketAddress;
  readonly cpu: Cpu;
  /** Load reported in responses with a modelled CPU; null: none. */
  readonly load: () => { readonly queueLength: number; readonly worksPerSecond: number } | null;
  readonly random: () => number;
}

interface Call {
  readonly service: string;
  readonly probability: number;
  readonly body: Buffer;
  options(this: void): RequestOptions;
}

/** Bounds the counter against callers that vary their name. */
const MAX_CALLERS = 1_000;

/** A workload's stand-in program. Counts received requests independently of the sidecar, for comparison. */
export class Application {
  readonly #workload: string;
  readonly #outbound: () => SocketAddress;
  readonly #cpu: Cpu;
  readonly #load: ApplicationDependencies["load"];
  readonly #random: () => number;
  readonly #received = new Map<string, number>();
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: 256 });
  #behaviour!: Behaviour;
  #answer!: Buffer;
  #calls!: readonly Call[];

  constructor({ workload, behaviour, outbound, cpu, load, random }: ApplicationDependencies) {
    this.#workload = workload;
    this.#outbound = outbound;
    this.#cpu = cpu;
    this.#load = load;
    this.#random = random;
    this.behave(behaviour);
  }

  behave(behaviour: Behaviour): void {
    this.#behaviour = behaviour;
    this.#answer = Buffer.alloc(behaviour.responseBytes, "x");
    this.#calls = behaviour.calls.map((service) => this.#callOf(service, behaviour));
  }

  received(): Record<string, number> {
    return Object.fromEntries(this.#received);
  }

  readonly handle = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    incoming.resume();
    if (incoming.url === LOAD_PATH) return void outgoing.writeHead(200, this.#loadHeader()).end();
    incoming.on("end", () => {
      this.#count(incoming.headers[SOURCE_WORKLOAD_HEADER]);
      this.#cpu.work(this.#workMs(), () =>
        this.#callAll((failed) => {
          const answer = this.#answerTo(incoming);
          const headers = { "content-length": answer.length, ...this.#loadHeader() };
          if (failed === null) outgoing.writeHead(200, headers).end(answer);
          else outgoing.writeHead(502, { "content-type": "text/plain" }).end(`callee ${failed} failed\n`);
        }),
      );
    });
    incoming.on("error", () => outgoing.destroy());
  };

  close(): void {
    this.#agent.destroy();
  }

  #callOf(service: string, behaviour: Behaviour): Call {
    const own = behaviour.callOptions?.[service] ?? {};
    const bytes = own.requestBytes ?? behaviour.requestBytes;
    const headers = {
      host: service,
      [SOURCE_WORKLOAD_HEADER]: this.#workload,
      "content-length": bytes,
      ...(own.responseBytes === undefined ? {} : { [RESPONSE_BYTES_HEADER]: own.responseBytes }),
    };
    const method = bytes > 0 ? "POST" : "GET";
    return {
      service,
      probability: own.probability ?? 1,
      body: Buffer.alloc(bytes, "x"),
      options: () => ({ ...this.#outbound(), method, path: "/", agent: this.#agent, headers }),
    };
  }

  #count(header: string | string[] | undefined): void {
    const name = typeof header === "string" ? header : UNKNOWN;
    const known = this.#received.has(name) || this.#received.size < MAX_CALLERS;
    const source = known ? name : UNKNOWN;
    this.#received.set(source, (this.#received.get(source) ?? 0) + 1);
  }

  /** ORCA load: 1 for the request in service, plus 1 per waiting request. */
  #loadHeader(): Readonly<Record<string, string>> {
    const load = this.#load();
    if (load === null) return {};
    const { queueLength, worksPerSecond } = load;
    return {
      [LOAD_HEADER]: `TEXT cpu_utilization=${queueLength},rps_fractional=${worksPerSecond.toFixed(2)}`,
    };
  }

  #workMs(): number {
    const { cpuMs, cpuSpread } = this.#behaviour;
    return cpuSpread === "exponential" ? -Math.log(1 - this.#random()) * cpuMs : cpuMs;
  }

  /** The requested size; the default size for an invalid or excessive one. */
  #answerTo(incoming: IncomingMessage): Buffer {
    const wanted = incoming.headers[RESPONSE_BYTES_HEADER];
    if (wanted === undefined) return this.#answer;
    const bytes = Number(wanted);
    if (bytes === this.#answer.length || !Number.isInteger(bytes) || bytes < 0 || bytes > MAX_BODY_BYTES)
      return this.#answer;
    return Buffer.alloc(bytes, "x");
  }

  #callAll(done: (failed: string | null) => void): void {
    const calls = this.#calls.filter(({ probability }) => probability >= 1 || this.#random() < probability);
    let left = calls.length;
    let failed: string | null = null;
    if (left === 0) return done(null);
    for (const call of calls) {
      this.#call(call, (ok) => {
        if (!ok) failed ??= call.service;
        if (--left === 0) done(failed);
      });
    }
  }

  #call({ options, body }: Call, done: (ok: boolean) => void): void {
    let over = false;
    const finish = (ok: boolean): void => {
      if (!over) done(ok);
      over = true;
    };
    const call = request(options(), (response) => {
      response.resume();
      response.on("end", () => finish(response.statusCode === 200));
      response.on("error", () => finish(false));
    });
    call.on("error", () => finish(false));
    call.end(body);
  }
}

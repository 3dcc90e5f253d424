// The load generator: requests to the workflow's entry on a fixed schedule, whatever becomes of earlier ones. Latency counts from
// the planned time, so that a stalled service can't hide behind requests that were never sent. Started with an IPC channel.
import { Agent, request } from "node:http";
import type { SocketAddress } from "../ports.ts";
import type { EndToEnd, FromLoad, ToLoad } from "./protocol.ts";
import { LoadResults } from "./results.ts";

/** Beyond this many unanswered requests new ones count as failed at once: sockets are finite. */
const MAX_PENDING = 500;

class Generator {
  readonly #agent = new Agent({ keepAlive: true, timeout: 30_000 });
  readonly #results = new LoadResults(performance.now());
  readonly #intervalMs: number;
  readonly #timeoutMs: number;
  #host = "";
  #endpoints: readonly SocketAddress[] = [];
  #next = 0;
  #pending = 0;
  #plannedMs = performance.now();

  constructor(requestsPerSecond: number, timeoutMs: number) {
    this.#intervalMs = 1000 / requestsPerSecond;
    this.#timeoutMs = timeoutMs;
  }

  setEndpoints(host: string, endpoints: readonly SocketAddress[]): void {
    // Before the entry is ready for the first time there is nobody to call, and nothing to fail.
    const first = this.#host === "" && endpoints.length > 0;
    if (endpoints.length > 0) this.#host = host;
    this.#endpoints = endpoints;
    if (first) this.#begin();
  }

  report(lastMs: number): EndToEnd {
    return this.#results.report(performance.now(), lastMs);
  }

  #begin(): void {
    this.#plannedMs = performance.now();
    this.#sendDue();
  }

  #sendDue(): void {
    const nowMs = performance.now();
    for (; this.#plannedMs <= nowMs; this.#plannedMs += this.#intervalMs) this.#send(this.#plannedMs);
    setTimeout(() => this.#sendDue(), Math.max(0, this.#plannedMs - performance.now()));
  }

  #send(plannedMs: number): void {
    const endpoint = this.#endpoints[this.#next++ % Math.max(1, this.#endpoints.length)];
    let over = false;
    const finish = (ok: boolean): void => {
      if (over) return;
      over = true;
      this.#pending--;
      this.#results.record(plannedMs, performance.now() - plannedMs, ok);
    };
    this.#pending++;
    if (endpoint === undefined || this.#pending > MAX_PENDING) return finish(false);
    const call = request({ ...endpoint, agent: this.#agent, headers: { host: this.#host } }, (response) => {
      response.resume();
      response.on("end", () => finish(response.statusCode === 200));
      response.on("error", () => finish(false));
    });
    const timer = setTimeout(() => call.destroy(new Error("timeout")), this.#timeoutMs);
    call.on("close", () => clearTimeout(timer));
    call.on("error", () => finish(false));
    call.end();
  }
}

process.on("SIGINT", () => {});
process.on("disconnect", () => process.exit(0));

let generator: Generator | null = null;
process.on("message", (message: ToLoad) => {
  if (message.type === "configure") generator = new Generator(message.requestsPerSecond, message.timeoutMs);
  else if (message.type === "endpoints") generator?.setEndpoints(message.host, message.endpoints);
  else if (generator !== null)
    process.send!({
      type: "report",
      id: message.id,
      report: generator.report(message.lastMs),
    } satisfies FromLoad);
});

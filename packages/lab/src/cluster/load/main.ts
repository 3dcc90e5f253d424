// The load generator: requests to the workflow's entry on a fixed schedule, whatever becomes of earlier ones. Latency counts from
// the planned time, so that a stalled service can't hide behind requests that were never sent. Started with an IPC channel.
import { Agent, request } from "node:http";
import type { SocketAddress } from "../ports.ts";
import type { EndToEnd, FromLoad, LoadPlan, RawStretch, ToLoad } from "./protocol.ts";
import { LoadResults } from "./results.ts";
import { Stretches } from "./stretches.ts";

/** Connections that are kept; as many requests wait at once on long ways. */
const MAX_FREE_SOCKETS = 4_096;

/** Requests that are sent before messages are looked at. */
const MAX_PER_TURN = 500;

class Generator {
  readonly #plan: LoadPlan;
  readonly #agent: Agent;
  readonly #results = new LoadResults(performance.now());
  readonly #stretches = new Stretches();
  #host = "";
  #endpoints: readonly SocketAddress[] = [];
  #next = 0;
  #pending = 0;
  #begunMs = 0;
  #sent = 0;

  constructor(plan: LoadPlan) {
    this.#plan = plan;
    // Kept at least as long as a request may take: on long ways nothing comes back for a while.
    const timeout = Math.max(30_000, plan.timeoutMs);
    this.#agent = new Agent({ keepAlive: true, maxFreeSockets: MAX_FREE_SOCKETS, timeout });
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

  stretch(durationMs: number, done: (stretch: RawStretch) => void): void {
    this.#stretches.begin(performance.now(), durationMs, done);
  }

  #begin(): void {
    this.#begunMs = performance.now();
    this.#sendDue();
  }

  #nextMs(): number {
    const { phasesMs, periodMs } = this.#plan;
    const round = Math.floor(this.#sent / phasesMs.length);
    return this.#begunMs + round * periodMs + phasesMs[this.#sent % phasesMs.length]!;
  }

  #sendDue(): void {
    const nowMs = performance.now();
    const sentBefore = this.#sent;
    // Whoever is behind its schedule must still hear that it is to end.
    for (
      let plannedMs = this.#nextMs();
      plannedMs <= nowMs && this.#sent - sentBefore < MAX_PER_TURN;
      plannedMs = this.#nextMs()
    ) {
      this.#sent++;
      this.#send(plannedMs);
    }
    this.#stretches.end(nowMs);
    setTimeout(() => this.#sendDue(), Math.max(0, this.#nextMs() - performance.now()));
  }

  #send(plannedMs: number): void {
    const endpoint = this.#endpoints[this.#next++ % Math.max(1, this.#endpoints.length)];
    const number = this.#stretches.planned(plannedMs);
    let over = false;
    const finish = (ok: boolean): void => {
      if (over) return;
      over = true;
      this.#pending--;
      const nowMs = performance.now();
      this.#results.record(plannedMs, nowMs - plannedMs, ok);
      this.#stretches.settled(number, ok ? nowMs - plannedMs : null, nowMs);
    };
    this.#pending++;
    if (endpoint === undefined || this.#pending > this.#plan.maxPending) return finish(false);
    const call = request({ ...endpoint, agent: this.#agent, headers: { host: this.#host } }, (response) => {
      response.resume();
      response.on("end", () => finish(response.statusCode === 200));
      response.on("error", () => finish(false));
    });
    const timer = setTimeout(() => call.destroy(new Error("timeout")), this.#plan.timeoutMs);
    call.on("close", () => clearTimeout(timer));
    call.on("error", () => finish(false));
    call.end();
  }
}

process.on("SIGINT", () => {});
process.on("disconnect", () => process.exit(0));

const answer = (message: FromLoad): void => void process.send!(message);

let generator: Generator | null = null;
process.on("message", (message: ToLoad) => {
  if (message.type === "configure") generator = new Generator(message.plan);
  else if (message.type === "endpoints") generator?.setEndpoints(message.host, message.endpoints);
  else if (message.type === "stretch") {
    const { id, durationMs } = message;
    generator?.stretch(durationMs, (stretch) => answer({ type: "stretch", id, stretch }));
  } else if (generator !== null)
    answer({ type: "report", id: message.id, report: generator.report(message.lastMs) });
});

// Load generator process (with IPC channel): open-loop requests to the entry on a fixed schedule. Latency
// counts from the planned time, so that a stalled service can't hide.
import { Agent, request } from "node:http";
import type { SocketAddress } from "../ports.ts";
import type { EndToEnd, FromLoad, LoadPlan, RawStretch, ToLoad } from "./protocol.ts";
import { LoadResults } from "./results.ts";
import { Schedule } from "./schedule.ts";
import { Stretches } from "./stretches.ts";

/** Kept connections: long round trips have this many requests in flight. */
const MAX_FREE_SOCKETS = 4_096;

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
  #schedule: Schedule | null = null;
  #pace = 1;

  constructor(plan: LoadPlan) {
    this.#plan = plan;
    // At least a request's timeout: on long paths nothing returns for a while.
    const timeout = Math.max(30_000, plan.timeoutMs);
    this.#agent = new Agent({ keepAlive: true, maxFreeSockets: MAX_FREE_SOCKETS, timeout });
  }

  setEndpoints(host: string, endpoints: readonly SocketAddress[]): void {
    const first = this.#host === "" && endpoints.length > 0;
    if (endpoints.length > 0) this.#host = host;
    this.#endpoints = endpoints;
    if (first) this.#begin();
  }

  setPace(factor: number): void {
    this.#pace = factor;
    this.#schedule?.setPace(factor);
  }

  report(lastMs: number): EndToEnd {
    return this.#results.report(performance.now(), lastMs);
  }

  stretch(durationMs: number, done: (stretch: RawStretch) => void): void {
    this.#stretches.begin(performance.now(), durationMs, done);
  }

  #begin(): void {
    this.#schedule = new Schedule(this.#plan, performance.now(), this.#pace);
    this.#sendDue(this.#schedule);
  }

  #sendDue(schedule: Schedule): void {
    const nowMs = performance.now();
    // An overloaded generator must still receive the end message.
    for (let inTurn = 0; schedule.nextMs <= nowMs && inTurn < MAX_PER_TURN; inTurn++)
      this.#send(schedule.take());
    this.#stretches.end(nowMs);
    setTimeout(() => this.#sendDue(schedule), Math.max(0, schedule.nextMs - performance.now()));
  }

  #send(plannedMs: number): void {
    const endpoint = this.#endpoints[this.#next++ % Math.max(1, this.#endpoints.length)];
    const number = this.#stretches.planned(plannedMs);
    let over = false;
    const finish = (failure: string | null): void => {
      if (over) return;
      over = true;
      this.#pending--;
      const nowMs = performance.now();
      this.#results.record(plannedMs, nowMs - plannedMs, failure);
      this.#stretches.settled(number, failure === null ? nowMs - plannedMs : null, nowMs);
    };
    this.#pending++;
    this.#results.sent(plannedMs, performance.now());
    const { maxPending, timeoutMs } = this.#plan;
    if (endpoint === undefined) return finish("no pod of the entry was ready");
    if (this.#pending > maxPending) return finish(`${maxPending} requests were still unanswered`);
    const call = request({ ...endpoint, agent: this.#agent, headers: { host: this.#host } }, (response) => {
      response.resume();
      response.on("end", () => finish(response.statusCode === 200 ? null : `status ${response.statusCode}`));
      response.on("error", (error) => finish(error.message));
    });
    const slow = new Error(`no answer within ${timeoutMs / 1000} s`);
    const timer = setTimeout(() => call.destroy(slow), timeoutMs);
    call.on("close", () => clearTimeout(timer));
    call.on("error", (error: NodeJS.ErrnoException) => finish(error.code ?? error.message));
    call.end();
  }
}

process.on("SIGINT", () => {});
process.on("disconnect", () => process.exit(0));

const answer = (message: FromLoad): void => void process.send!(message);

let generator: Generator | null = null;
process.on("message", (message: ToLoad) => {
  if (message.type === "configure") generator = new Generator(message.plan);
  else if (message.type === "pace") generator?.setPace(message.factor);
  else if (message.type === "endpoints") generator?.setEndpoints(message.host, message.endpoints);
  else if (message.type === "stretch") {
    const { id, durationMs } = message;
    generator?.stretch(durationMs, (stretch) => answer({ type: "stretch", id, stretch }));
  } else if (generator !== null)
    answer({ type: "report", id: message.id, report: generator.report(message.lastMs) });
});

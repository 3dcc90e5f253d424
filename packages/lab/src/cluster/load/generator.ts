import { pause, type Clock } from "@isochrone/runtime";
import { PodProcessError } from "../errors.ts";
import { RestartPauses } from "../../restart-pauses.ts";
import type { SocketAddress } from "../ports.ts";
import { ANSWER_MS, LoadProcess } from "./load-process.ts";
import type { EndToEnd, LoadPlan, RawStretch } from "./protocol.ts";

export function steadyLoad(requestsPerSecond: number): LoadPlan {
  return { phasesMs: [0], periodMs: 1000 / requestsPerSecond, timeoutMs: 10_000, maxPending: 500 };
}

interface GeneratorOptions {
  readonly commandOn?: readonly string[];
  readonly onRestart?: (restarts: number) => void;
}

/** Parent side of the load generator. Restarts and reconfigures a process that ends. */
export class LoadGenerator {
  readonly #plan: LoadPlan;
  readonly #clock: Clock;
  readonly #options: GeneratorOptions;
  readonly #stop = new AbortController();
  #process: LoadProcess;
  #entry: { readonly host: string; readonly endpoints: readonly SocketAddress[] } | null = null;
  #pace = 1;
  readonly #pauses: RestartPauses;
  #restarts = 0;

  constructor(plan: LoadPlan, clock: Clock, options: GeneratorOptions = {}) {
    this.#plan = plan;
    this.#clock = clock;
    this.#options = options;
    this.#pauses = new RestartPauses(clock);
    this.#process = this.#start();
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Without endpoints requests fail, as users' would. */
  setEndpoints(host: string, endpoints: readonly SocketAddress[]): void {
    this.#entry = { host, endpoints };
    this.#process.send({ type: "endpoints", host, endpoints });
  }

  setPace(factor: number): void {
    this.#pace = factor;
    this.#process.send({ type: "pace", factor });
  }

  async report(lastMs: number): Promise<EndToEnd> {
    const { reports } = this.#process;
    const report = await reports.ask((id) => this.#process.send({ type: "report", id, lastMs }));
    if (report === null)
      throw new PodProcessError(`the load generator must report within ${ANSWER_MS} ms and did not`);
    return report;
  }

  /**
   * All requests of a period that starts at the end of the previous one. One at a time. Throws
   * PodProcessError if the process has ended.
   */
  async stretch(durationMs: number): Promise<RawStretch> {
    const { stretches } = this.#process;
    const stretch = await stretches.ask((id) => this.#process.send({ type: "stretch", id, durationMs }));
    if (stretch === null) throw new PodProcessError("the load generator ended before the stretch did");
    return stretch;
  }

  stop(): Promise<void> {
    this.#stop.abort();
    return this.#process.end();
  }

  #start(): LoadProcess {
    const { commandOn = [] } = this.#options;
    return new LoadProcess(this.#plan, this.#clock, commandOn, () => void this.#again());
  }

  async #again(): Promise<void> {
    const { signal } = this.#stop;
    if (signal.aborted) return;
    await pause(this.#clock, this.#pauses.next(), signal);
    if (signal.aborted) return;
    this.#pauses.started();
    this.#process = this.#start();
    this.#process.send({ type: "pace", factor: this.#pace });
    if (this.#entry !== null) this.#process.send({ type: "endpoints", ...this.#entry });
    this.#options.onRestart?.(++this.#restarts);
  }
}

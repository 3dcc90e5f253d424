import { pause, type Clock } from "@isochrone/runtime";
import { PodProcessError } from "../errors.ts";
import { RestartPauses } from "../../restart-pauses.ts";
import type { SocketAddress } from "../ports.ts";
import { ANSWER_MS, LoadProcess } from "./load-process.ts";
import type { EndToEnd, LoadPlan, RawStretch } from "./protocol.ts";

/** One request after the other, at equal distances. */
export function steadyLoad(requestsPerSecond: number): LoadPlan {
  return { phasesMs: [0], periodMs: 1000 / requestsPerSecond, timeoutMs: 10_000, maxPending: 500 };
}

interface GeneratorOptions {
  /** Command before the process's own. @default nothing */
  readonly commandOn?: readonly string[];
  /** Told of each start but the first, with the number of restarts so far. */
  readonly onRestart?: (restarts: number) => void;
}

/** The load generator, as the cluster sees it. A process that ends is started again and told all it needs. */
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

  /** Where the entry service is; without endpoints requests fail, as users' would. */
  setEndpoints(host: string, endpoints: readonly SocketAddress[]): void {
    this.#entry = { host, endpoints };
    this.#process.send({ type: "endpoints", host, endpoints });
  }

  /** Requests come so many times as rarely as the plan says. */
  setPace(factor: number): void {
    this.#pace = factor;
    this.#process.send({ type: "pace", factor });
  }

  /** Throws PodProcessError when the process doesn't answer. */
  async report(lastMs: number): Promise<EndToEnd> {
    const { reports } = this.#process;
    const report = await reports.ask((id) => this.#process.send({ type: "report", id, lastMs }));
    if (report === null)
      throw new PodProcessError(`the load generator must report within ${ANSWER_MS} ms and did not`);
    return report;
  }

  /**
   * Every request of the time that begins with the end of the last stretch. One at a time. Throws
   * PodProcessError when the process has ended.
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

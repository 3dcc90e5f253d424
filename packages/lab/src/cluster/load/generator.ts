import type { ChildProcess } from "node:child_process";
import type { Clock } from "@isochrone/runtime";
import { PodProcessError } from "../errors.ts";
import { endChild, sendTo, startChild } from "../kubelet/child.ts";
import { Questions } from "../kubelet/questions.ts";
import type { SocketAddress } from "../ports.ts";
import type { EndToEnd, FromLoad, LoadPlan, RawStretch, ToLoad } from "./protocol.ts";

const LOAD_ENTRY = new URL("main.ts", import.meta.url);
const ANSWER_MS = 10_000;
/** Nobody waits longer than this for a stretch of load. */
const LONGEST_STRETCH_MS = 24 * 3_600_000;

/** One request after the other, at equal distances. */
export function steadyLoad(requestsPerSecond: number): LoadPlan {
  return { phasesMs: [0], periodMs: 1000 / requestsPerSecond, timeoutMs: 10_000, maxPending: 500 };
}

/** The load generator's process, as the cluster sees it. */
export class LoadGenerator {
  readonly #child: ChildProcess;
  readonly #reports: Questions<EndToEnd>;
  readonly #stretches: Questions<RawStretch>;

  constructor(plan: LoadPlan, clock: Clock, commandOn: readonly string[] = []) {
    this.#child = startChild(LOAD_ENTRY, "load", commandOn);
    this.#reports = new Questions(this.#child, clock, ANSWER_MS);
    this.#stretches = new Questions(this.#child, clock, LONGEST_STRETCH_MS);
    this.#child.on("message", (message: FromLoad) => {
      if (message.type === "report") this.#reports.settle(message.id, message.report);
      else this.#stretches.settle(message.id, message.stretch);
    });
    this.#send({ type: "configure", plan });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Where the entry service is; without endpoints requests fail, as users' would. */
  setEndpoints(host: string, endpoints: readonly SocketAddress[]): void {
    this.#send({ type: "endpoints", host, endpoints });
  }

  /** Requests come so many times as rarely as the plan says. */
  setPace(factor: number): void {
    this.#send({ type: "pace", factor });
  }

  /** Throws PodProcessError when the process doesn't answer. */
  async report(lastMs: number): Promise<EndToEnd> {
    const report = await this.#reports.ask((id) => this.#send({ type: "report", id, lastMs }));
    if (report === null)
      throw new PodProcessError(`the load generator must report within ${ANSWER_MS} ms and did not`);
    return report;
  }

  /**
   * Every request of the time that begins with the end of the last stretch. One at a time. Throws
   * PodProcessError when the process has ended.
   */
  async stretch(durationMs: number): Promise<RawStretch> {
    const stretch = await this.#stretches.ask((id) => this.#send({ type: "stretch", id, durationMs }));
    if (stretch === null) throw new PodProcessError("the load generator ended before the stretch did");
    return stretch;
  }

  stop(): Promise<void> {
    return endChild(this.#child, Promise.resolve());
  }

  #send(message: ToLoad): void {
    sendTo(this.#child, message);
  }
}

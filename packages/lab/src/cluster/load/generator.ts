import type { ChildProcess } from "node:child_process";
import type { Clock } from "@isochrone/runtime";
import { PodProcessError } from "../errors.ts";
import { endChild, sendTo, startChild } from "../kubelet/child.ts";
import { Questions } from "../kubelet/questions.ts";
import type { SocketAddress } from "../ports.ts";
import type { EndToEnd, FromLoad, ToLoad } from "./protocol.ts";

const LOAD_ENTRY = new URL("main.ts", import.meta.url);
const ANSWER_MS = 2_000;
const REQUEST_TIMEOUT_MS = 10_000;

/** The load generator's process, as the cluster sees it. */
export class LoadGenerator {
  readonly #child: ChildProcess;
  readonly #reports: Questions<EndToEnd>;

  constructor(requestsPerSecond: number, clock: Clock) {
    this.#child = startChild(LOAD_ENTRY, "load");
    this.#reports = new Questions(this.#child, clock, ANSWER_MS);
    this.#child.on("message", ({ id, report }: FromLoad) => this.#reports.settle(id, report));
    this.#send({ type: "configure", requestsPerSecond, timeoutMs: REQUEST_TIMEOUT_MS });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Where the entry service is; without endpoints requests fail, as users' would. */
  setEndpoints(host: string, endpoints: readonly SocketAddress[]): void {
    this.#send({ type: "endpoints", host, endpoints });
  }

  /** Throws PodProcessError when the process doesn't answer. */
  async report(lastMs: number): Promise<EndToEnd> {
    const report = await this.#reports.ask((id) => this.#send({ type: "report", id, lastMs }));
    if (report === null)
      throw new PodProcessError(`the load generator must report within ${ANSWER_MS} ms and did not`);
    return report;
  }

  stop(): Promise<void> {
    return endChild(this.#child, Promise.resolve());
  }

  #send(message: ToLoad): void {
    sendTo(this.#child, message);
  }
}

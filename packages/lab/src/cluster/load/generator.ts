import type { ChildProcess } from "node:child_process";
import type { Clock } from "@isochrone/runtime";
import { PodProcessError } from "../errors.ts";
import { endChild, sendTo, startChild } from "../kubelet/child.ts";
import type { SocketAddress } from "../ports.ts";
import type { EndToEnd, FromLoad, ToLoad } from "./protocol.ts";

const LOAD_ENTRY = new URL("main.ts", import.meta.url);
const ANSWER_MS = 2_000;
const REQUEST_TIMEOUT_MS = 10_000;

/** The load generator's process, as the cluster sees it. */
export class LoadGenerator {
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  readonly #asked = new Map<number, (report: EndToEnd) => void>();
  #lastId = 0;

  constructor(requestsPerSecond: number, clock: Clock) {
    this.#clock = clock;
    this.#child = startChild(LOAD_ENTRY, "load");
    this.#child.on("message", (message: FromLoad) => this.#asked.get(message.id)?.(message.report));
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
    const id = ++this.#lastId;
    const stop = new AbortController();
    const answer = new Promise<EndToEnd>((resolve) => this.#asked.set(id, resolve));
    this.#send({ type: "report", id, lastMs });
    const late = this.#clock.sleep(ANSWER_MS, stop.signal).then(
      () => null,
      () => null,
    );
    const report = await Promise.race([answer, late]);
    stop.abort();
    this.#asked.delete(id);
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

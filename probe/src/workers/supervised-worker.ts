import { closeSync, writeSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { pause, type Clock, type Logger } from "@isochrone/runtime";
import { backoffMs } from "@isochrone/primitives";
import type { Carrier, CarrierEvents } from "./carrier.ts";
import { WorkerShare } from "./share.ts";

const RESTART = { initialMs: 100, maxMs: 10_000, factor: 2 };
const HEALTHY_MS = 30_000;
const WAKE = new BigUint64Array([1n]);

export interface SupervisedWorkerOptions<From> extends CarrierEvents<From> {
  /** Thread name, for example isochrone-measuring. */
  readonly name: string;
  readonly title: string;
  readonly url: URL;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A worker thread that restarts with growing pauses when it dies; its open descriptors are closed first. */
export class SupervisedWorker<To, From> implements Carrier<To> {
  readonly #options: SupervisedWorkerOptions<From>;
  readonly #closing = new AbortController();
  #worker: Worker | null = null;
  #share = new WorkerShare();
  #restarts = 0;
  #failures = 0;
  #startedMs = 0;
  #resting = false;

  constructor(options: SupervisedWorkerOptions<From>) {
    this.#options = options;
  }

  get restarts(): number {
    return this.#restarts;
  }

  get running(): boolean {
    return this.#worker !== null;
  }

  start(): void {
    if (this.#worker === null && !this.#resting && !this.#closing.signal.aborted) this.#spawn();
  }

  post(message: To): boolean {
    if (this.#worker === null) return false;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- not a window
    this.#worker.postMessage(message);
    this.#wake();
    return true;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const worker = this.#worker;
    if (worker === null) return;
    this.#wake();
    await worker.terminate();
    this.#ended(worker);
  }

  #spawn(): void {
    const { name, url, data, clock, onMessage } = this.#options;
    this.#share = new WorkerShare();
    const worker = new Worker(url, {
      name,
      execArgv: [],
      workerData: { ...data, share: this.#share.memory },
    });
    this.#worker = worker;
    this.#startedMs = clock.monotonic();
    let cause: unknown = null;
    worker.on("message", (message: From) => {
      if (this.#worker === worker) onMessage(message);
    });
    worker.on("error", (error) => {
      cause = error;
    });
    worker.on("exit", (code) => {
      if (!this.#ended(worker) || this.#closing.signal.aborted) return;
      this.#died(cause ?? new Error(`the ${this.#options.title} ended with code ${code}`));
    });
    this.#options.onStart();
  }

  /** Descriptors belong to the process: a dead thread's would stay open and its ports taken. */
  #ended(worker: Worker): boolean {
    if (this.#worker !== worker) return false;
    this.#worker = null;
    for (const fd of this.#share.descriptors.takeOpen()) closeSync(fd);
    return true;
  }

  #died(cause: unknown): void {
    const { clock, logger, title, onDeath } = this.#options;
    this.#restarts++;
    if (clock.monotonic() - this.#startedMs > HEALTHY_MS) this.#failures = 0;
    const delayMs = backoffMs(RESTART, ++this.#failures);
    logger.error(`${title} died`, { error: cause, restartInMs: delayMs, restarts: this.#restarts });
    this.#resting = true;
    onDeath(cause);
    void this.#restartAfter(delayMs);
  }

  /** Never rejects: only closing ends the pause early. */
  async #restartAfter(delayMs: number): Promise<void> {
    await pause(this.#options.clock, delayMs, this.#closing.signal);
    this.#resting = false;
    if (!this.#closing.signal.aborted && this.#options.isNeeded()) this.#spawn();
  }

  #wake(): void {
    const fd = this.#share.wakeFd;
    if (fd !== null) writeSync(fd, WAKE);
  }
}

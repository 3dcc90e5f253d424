import { Worker } from "node:worker_threads";
import type { Transferable } from "node:worker_threads";
import type { Clock } from "./clock.ts";

interface AnsweringThreadOptions {
  /** Entry file of the thread, which answers each message with one of the same `id`. */
  readonly url: URL;
  readonly name: string;
  /** Heap limit, beyond which the thread ends instead of the process. @default Node's own */
  readonly maxHeapMb?: number;
  readonly clock: Clock;
}

/** Outcome of a request. Except after `busy` and an answer, the next request gets a new thread. */
export type ThreadOutcome<Answer> =
  | { readonly kind: "answer"; readonly answer: Answer }
  | { readonly kind: "busy" }
  | { readonly kind: "closed" }
  | { readonly kind: "timeout" }
  | { readonly kind: "died"; readonly cause: unknown };

interface Pending<Answer> {
  readonly id: number;
  readonly outcome: PromiseWithResolvers<ThreadOutcome<Answer>>;
}

/** Worker thread that handles one request at a time. Restarts on the request after it died or hung. */
export class AnsweringThread<
  Request extends { readonly id: number },
  Answer extends { readonly id: number },
> {
  readonly #options: AnsweringThreadOptions;
  #worker: Worker | null = null;
  #pending: Pending<Answer> | null = null;
  #nextId = 1;

  constructor(options: AnsweringThreadOptions) {
    this.#options = options;
  }

  /** False also means that the thread's memory of earlier requests is gone. */
  get isRunning(): boolean {
    return this.#worker !== null;
  }

  /**
   * Rejects only if the request can't be posted.
   * @param transfer parts that are moved instead of copied
   */
  async ask(
    request: Omit<Request, "id">,
    timeoutMs: number,
    transfer: readonly Transferable[] = [],
  ): Promise<ThreadOutcome<Answer>> {
    if (this.#pending !== null) return { kind: "busy" };
    this.#worker ??= this.#start();
    const pending: Pending<Answer> = { id: this.#nextId++, outcome: Promise.withResolvers() };
    this.#pending = pending;
    const answered = new AbortController();
    void this.#endAfter(timeoutMs, pending, answered.signal);
    try {
      this.#worker?.postMessage({ ...request, id: pending.id }, transfer);
      return await pending.outcome.promise;
    } finally {
      answered.abort();
      this.#pending = null;
    }
  }

  async close(): Promise<void> {
    await this.#end({ kind: "closed" });
  }

  #start(): Worker {
    const { url, name, maxHeapMb } = this.#options;
    const worker = new Worker(url, {
      name,
      execArgv: [],
      ...(maxHeapMb === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } }),
    });
    worker.unref();
    worker.on("message", (answer: Answer) => this.#take(answer));
    worker.on("error", (cause) => this.#died(worker, cause));
    worker.on("exit", (code) => this.#died(worker, new Error(`it ended with code ${code}`)));
    return worker;
  }

  #take(answer: Answer): void {
    // Abandoned requests may still be answered.
    if (this.#pending?.id === answer.id) this.#pending.outcome.resolve({ kind: "answer", answer });
  }

  #died(worker: Worker, cause: unknown): void {
    if (this.#worker === worker) void this.#end({ kind: "died", cause });
  }

  /** Never rejects: only an answer ends the sleep early. */
  async #endAfter(timeoutMs: number, pending: Pending<Answer>, signal: AbortSignal): Promise<void> {
    await this.#options.clock.sleep(timeoutMs, signal).catch(() => undefined);
    if (!signal.aborted && this.#pending === pending) await this.#end({ kind: "timeout" });
  }

  async #end(outcome: ThreadOutcome<Answer>): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    this.#pending?.outcome.resolve(outcome);
    await worker?.terminate();
  }
}

import { loadLibc, type KernelSocket } from "@isochrone/kernel-sockets";
import { backoffMs, reasonOf } from "@isochrone/primitives";
import { Worker } from "node:worker_threads";
import type { Clock, Logger } from "@isochrone/runtime";
import { ProbeError } from "../ports/errors.ts";
import { errnoOf } from "../engine/sockets.ts";
import type { Doorbell, PacketKey } from "../ports/ports.ts";
import type {
  FromReceiver,
  ReceiverConfig,
  ReceiverCounts,
  SenderData,
  SenderResult,
  SenderTask,
  ToReceiver,
} from "./messages.ts";
import { openPorts } from "./receiver-ports.ts";

const RESTART = { initialMs: 500, maxMs: 30_000, factor: 2 };
const CLOSE_DEADLINE_MS = 1000;
/** Time beyond the test's own bounds before a sender's thread is terminated. Milliseconds. */
const SENDER_EXTRA_MS = 10_000;

interface ReceiverThreadDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  onCounts(counts: ReceiverCounts): void;
  /** With a doorbell the thread runs only while somebody is connected. @default none: it always runs */
  readonly doorbell?: Doorbell | null;
}

export class ReceiverThread {
  readonly #deps: ReceiverThreadDeps;
  readonly #stopped = new AbortController();
  #config: ReceiverConfig;
  #worker: Worker | null = null;
  #closed: (() => void) | null = null;
  #failures = 0;
  #wasOpen = false;
  #sockets: readonly KernelSocket[] = [];
  #unwatch: (() => void) | null = null;
  #isResting = false;

  constructor(config: ReceiverConfig, deps: ReceiverThreadDeps) {
    this.#config = config;
    this.#deps = deps;
  }

  async open(): Promise<number> {
    const { doorbell = null } = this.#deps;
    const port = await (doorbell === null ? this.#start() : this.#openHere(doorbell));
    // Peers know this port: a restart must reuse it.
    this.#config = { ...this.#config, port };
    this.#wasOpen = true;
    return port;
  }

  get isRunning(): boolean {
    return this.#worker !== null;
  }

  setKeys(keys: readonly PacketKey[]): void {
    this.#config = { ...this.#config, keys };
    this.#post({ type: "keys", keys });
  }

  async close(): Promise<void> {
    this.#stopped.abort();
    this.#unwatch?.();
    this.#unwatch = null;
    await this.#end();
    for (const socket of this.#sockets) socket.close();
    this.#sockets = [];
  }

  async #end(): Promise<void> {
    const worker = this.#worker;
    if (worker === null) return;
    const closed = Promise.withResolvers<void>();
    this.#closed = closed.resolve;
    this.#post({ type: "close" });
    const timer = new AbortController();
    await Promise.race([
      closed.promise,
      this.#deps.clock.sleep(CLOSE_DEADLINE_MS, timer.signal).catch(() => undefined),
    ]);
    timer.abort();
    this.#worker = null;
    await worker.terminate();
  }

  async #openHere(doorbell: Doorbell): Promise<number> {
    try {
      const { listener, udp, port } = openPorts(await loadLibc(), this.#config);
      this.#sockets = [listener, udp];
      this.#config = { ...this.#config, sockets: { listener: listener.fd, udp: udp.fd } };
      this.#await(doorbell, listener.fd);
      return port;
    } catch (error) {
      throw bindError(this.#config, reasonOf(error), errnoOf(error));
    }
  }

  /** A failing start is also reported by the thread's end. */
  #await(doorbell: Doorbell, listener: number): void {
    this.#unwatch = doorbell.watch(listener, () => {
      this.#unwatch?.();
      this.#unwatch = null;
      this.#start().catch(() => undefined);
    });
  }

  #start(): Promise<number> {
    const url = new URL("./receiver-worker.ts", import.meta.url);
    const worker = new Worker(url, { name: "isochrone-bandwidth", execArgv: [], workerData: this.#config });
    this.#worker = worker;
    const opened = Promise.withResolvers<number>();
    let cause: Error | null = null;
    worker.on("message", (message: FromReceiver) => this.#handle(message, opened));
    worker.on("error", (error) => {
      cause = error instanceof Error ? error : new Error(String(error));
    });
    worker.on("exit", () => {
      opened.reject(bindError(this.#config, cause?.message ?? "its thread ended"));
      if (this.#worker !== worker) return;
      this.#worker = null;
      this.#closed?.();
      const isResting = this.#isResting;
      this.#isResting = false;
      if (isResting) this.#again();
      else void this.#restart();
    });
    return opened.promise;
  }

  #handle(message: FromReceiver, opened: PromiseWithResolvers<number>): void {
    if (message.type === "opened") {
      this.#failures = 0;
      opened.resolve(message.port);
    } else if (message.type === "failed")
      opened.reject(bindError(this.#config, message.message, message.errno));
    else if (message.type === "counts") this.#deps.onCounts(message.counts);
    else if (message.type === "resting") this.#isResting = true;
    else this.#closed?.();
  }

  /** Restarts only a receiver that was open before: the opener gets the first failure. */
  async #restart(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted && this.#worker === null && this.#wasOpen) {
      const restartInMs = backoffMs(RESTART, ++this.#failures);
      this.#deps.logger.warn("bandwidth receiver died", { restartInMs });
      await this.#deps.clock.sleep(restartInMs, signal).catch(() => undefined);
      if (signal.aborted || this.#again()) return;
      await this.#start().catch((error: unknown) => {
        this.#deps.logger.warn("bandwidth receiver failed to open", { error });
      });
    }
  }

  #again(): boolean {
    const { doorbell = null } = this.#deps;
    const { sockets } = this.#config;
    if (doorbell === null || sockets === undefined) return false;
    if (!this.#stopped.signal.aborted) this.#await(doorbell, sockets.listener);
    return true;
  }

  #post(message: ToReceiver): void {
    this.#worker?.postMessage(message);
  }
}

function bindError({ bindAddress, port }: ReceiverConfig, why: string, errno = ""): ProbeError {
  const message = `cannot open the bandwidth receiver on ${bindAddress}, port ${port}: ${why}`;
  return new ProbeError("probe_bind_failed", message, { retryable: errno === "EADDRINUSE" });
}

/** Runs one test in its own thread. Aborting stops it within milliseconds. Never rejects. */
export async function sendTest(task: SenderTask, clock: Clock, signal: AbortSignal): Promise<SenderResult> {
  const abort = new SharedArrayBuffer(4);
  const workerData: SenderData = { task, abort };
  const url = new URL("./sender-worker.ts", import.meta.url);
  const worker = new Worker(url, { name: "isochrone-burst", execArgv: [], workerData });
  const done = Promise.withResolvers<SenderResult>();
  worker.on("message", (result: SenderResult) => done.resolve(result));
  worker.on("error", (error) => done.resolve({ type: "failed", message: reasonOf(error) }));
  worker.on("exit", (code) =>
    done.resolve({ type: "failed", message: `the sender's thread ended with ${code}` }),
  );
  const stop = (): void => void Atomics.store(new Int32Array(abort), 0, 1);
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  const timer = new AbortController();
  const limit = clock
    .sleep(task.maxDurationMs + SENDER_EXTRA_MS, timer.signal)
    .then((): SenderResult => ({ type: "failed", message: "the sender's thread didn't end in time" }))
    .catch((): SenderResult => ({ type: "failed", message: "" }));
  const result = await Promise.race([done.promise, limit]);
  timer.abort();
  signal.removeEventListener("abort", stop);
  await worker.terminate();
  return result;
}

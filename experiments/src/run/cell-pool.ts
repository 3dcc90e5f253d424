import { Worker } from "node:worker_threads";
import { reasonOf } from "@isochrone/primitives";
import type { KubeScheduler, ProductSettings, SchedulingRequest } from "../contenders/index.ts";
import type { Placement } from "../contenders/port.ts";
import type { Cell } from "./cells.ts";
import type { CellResult } from "./result.ts";

export interface WorkerSettings {
  readonly product: ProductSettings;
  /** Version of the real scheduler, which the owner calls for all threads; null: the imitation. */
  readonly schedulerVersion: string | null;
}

export type ToWorker =
  | { readonly kind: "cell"; readonly cell: Cell }
  | { readonly kind: "placed"; readonly id: number; readonly placement: Placement }
  | { readonly kind: "not-placed"; readonly id: number; readonly reason: string };

export type FromWorker =
  | { readonly kind: "result"; readonly result: CellResult }
  | { readonly kind: "failed"; readonly error: Error }
  | { readonly kind: "schedule"; readonly id: number; readonly request: SchedulingRequest };

interface PoolOptions {
  readonly product: ProductSettings;
  readonly kubeScheduler: KubeScheduler | null;
}

/** Starts a thread if all are busy. The caller limits concurrent calls. */
export class CellPool {
  readonly #options: PoolOptions;
  readonly #workers: Worker[] = [];
  readonly #idle: Worker[] = [];
  /** The scheduler handles one request at a time. */
  #scheduling: Promise<unknown> = Promise.resolve();

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Rejects if the thread fails, or with the abort reason. */
  async measure(cell: Cell, signal: AbortSignal): Promise<CellResult> {
    const worker = this.#idle.pop() ?? this.#start();
    const result = await this.#measure(worker, cell, signal);
    this.#idle.push(worker);
    return result;
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  #start(): Worker {
    const { product, kubeScheduler } = this.#options;
    const workerData: WorkerSettings = { product, schedulerVersion: kubeScheduler?.version ?? null };
    const worker = new Worker(new URL("cell-worker.ts", import.meta.url), { workerData });
    this.#workers.push(worker);
    return worker;
  }

  #measure(worker: Worker, cell: Cell, signal: AbortSignal): Promise<CellResult> {
    return new Promise((resolve, reject) => {
      const end = (act: () => void): void => {
        worker.off("error", fail).off("exit", exit).off("message", hear);
        signal.removeEventListener("abort", abort);
        act();
      };
      const abort = (): void => end(() => reject(signal.reason as Error));
      const fail = (error: Error): void => end(() => reject(error));
      const exit = (code: number): void => fail(new Error(`a measuring thread ended with code ${code}`));
      const hear = (message: FromWorker): void => {
        if (message.kind === "result") end(() => resolve(message.result));
        else if (message.kind === "failed") fail(message.error);
        else void this.#schedule(worker, message);
      };
      signal.addEventListener("abort", abort, { once: true });
      worker.on("error", fail).on("exit", exit).on("message", hear);
      worker.postMessage({ kind: "cell", cell } satisfies ToWorker, []);
    });
  }

  async #schedule(worker: Worker, { id, request }: FromWorker & { kind: "schedule" }): Promise<void> {
    const say = (message: ToWorker): void => worker.postMessage(message, []);
    const turn = this.#scheduling.then(() => this.#options.kubeScheduler!.schedule(request));
    this.#scheduling = turn.catch(() => undefined);
    try {
      say({ kind: "placed", id, placement: await turn });
    } catch (error) {
      say({ kind: "not-placed", id, reason: reasonOf(error) });
    }
  }
}

// Threads that measure cells of the model side by side.
import { Worker } from "node:worker_threads";
import { reasonOf } from "@isochrone/primitives";
import type { KubeScheduler, ProductSettings } from "../contenders/index.ts";
import type { Cell } from "./cells.ts";
import type { FromWorker, ToWorker, WorkerSettings } from "./messages.ts";
import type { CellResult } from "./result.ts";

interface PoolOptions {
  readonly jobs: number;
  readonly product: ProductSettings;
  readonly kubeScheduler: KubeScheduler | null;
}

export class CellPool {
  readonly #workers: Worker[];
  readonly #kubeScheduler: KubeScheduler | null;
  /** The scheduler answers one at a time. */
  #scheduling: Promise<unknown> = Promise.resolve();

  constructor({ jobs, product, kubeScheduler }: PoolOptions) {
    this.#kubeScheduler = kubeScheduler;
    const workerData: WorkerSettings = { product, schedulerVersion: kubeScheduler?.version ?? null };
    this.#workers = Array.from(
      { length: jobs },
      () => new Worker(new URL("cell-worker.ts", import.meta.url), { workerData }),
    );
  }

  /**
   * Measures all; `done` is called as they finish. Rejects with the first failure, or when the signal says
   * so.
   */
  async run(
    cells: readonly Cell[],
    done: (cell: Cell, result: CellResult) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const left = [...cells].reverse();
    const work = async (worker: Worker): Promise<void> => {
      for (let cell = left.pop(); cell !== undefined; cell = left.pop()) {
        signal.throwIfAborted();
        done(cell, await this.#measure(worker, cell, signal));
      }
    };
    await Promise.all(this.#workers.map(work));
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
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
    const turn = this.#scheduling.then(() => this.#kubeScheduler!.schedule(request));
    this.#scheduling = turn.catch(() => undefined);
    try {
      say({ kind: "placed", id, placement: await turn });
    } catch (error) {
      say({ kind: "not-placed", id, reason: reasonOf(error) });
    }
  }
}

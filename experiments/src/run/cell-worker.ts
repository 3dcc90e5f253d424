// Thread that measures model cells, since simulation is CPU-bound.
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "@isochrone/runtime";
import { createContender } from "../contenders/index.ts";
import type { ContenderDeps, KubeScheduler } from "../contenders/index.ts";
import type { Placement } from "../contenders/port.ts";
import { createModelTestbed } from "../testbed/model/index.ts";
import { runCell } from "./cell-run.ts";
import type { Cell } from "./cells.ts";
import type { FromWorker, ToWorker, WorkerSettings } from "./cell-pool.ts";

const { product, schedulerVersion } = workerData as WorkerSettings;
const port = parentPort!;
const asked = new Map<number, PromiseWithResolvers<Placement>>();
let lastId = 0;

const say = (message: FromWorker): void => port.postMessage(message);

const deps: ContenderDeps = {
  product,
  clock: systemClock,
  ...(schedulerVersion === null ? {} : { kubeScheduler: remoteScheduler(schedulerVersion) }),
};

port.on("message", (message: ToWorker) => {
  switch (message.kind) {
    case "cell":
      void measure(message.cell);
      break;
    case "placed":
      asked.get(message.id)?.resolve(message.placement);
      asked.delete(message.id);
      break;
    case "not-placed":
      asked.get(message.id)?.reject(new Error(message.reason));
      asked.delete(message.id);
      break;
    default:
      message satisfies never;
  }
});

async function measure(cell: Cell): Promise<void> {
  try {
    if (cell.ground.name !== "model") throw new Error(`a thread measures the model, got ${cell.ground.name}`);
    const ground = createModelTestbed(cell.ground.model);
    const contender = (id: typeof cell.contender): ReturnType<typeof createContender> =>
      createContender(id, deps);
    // The owner terminates the thread.
    const { signal } = new AbortController();
    say({
      kind: "result",
      result: await runCell(
        cell,
        { contender, ground, clock: systemClock, settings: JSON.stringify(product) },
        signal,
      ),
    });
  } catch (error) {
    say({ kind: "failed", error: error as Error });
  }
}

function remoteScheduler(version: string): KubeScheduler {
  return {
    version,
    schedule(request) {
      lastId += 1;
      const answer = Promise.withResolvers<Placement>();
      asked.set(lastId, answer);
      say({ kind: "schedule", id: lastId, request });
      return answer.promise;
    },
  };
}

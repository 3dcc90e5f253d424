// The thread of large frames: a tenth of a second of arithmetic that kube-scheduler's requests must not wait
// for.
import { parentPort } from "node:worker_threads";
import { reasonOf } from "@isochrone/primitives";
import { solved, type FrameAnswer, type FrameRequest } from "./frame-messages.ts";

const port = parentPort!;

port.on("message", ({ id, problem }: FrameRequest) => {
  try {
    const solution = solved(problem);
    const transfer = [solution.stepZones.buffer, solution.stepPerSecond.buffer];
    port.postMessage({ id, solution } satisfies FrameAnswer, transfer);
  } catch (error) {
    port.postMessage({ id, failure: reasonOf(error) } satisfies FrameAnswer);
  }
});

// Worker thread for large frames: 0.1 s of arithmetic that must not delay kube-scheduler's requests.
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

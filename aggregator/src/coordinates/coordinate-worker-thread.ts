// Fits coordinates in a thread: seconds of CPU time that must not block requests.
import { parentPort } from "node:worker_threads";
import { CoordinateModel, fitCoordinates } from "@isochrone/topology/coordinates";
import { reasonOf } from "@isochrone/primitives";
import type { FitAnswer, FitRequest } from "./coordinate-messages.ts";

const port = parentPort!;

/** The last fit's model. The posted state is a copy. */
let last: CoordinateModel | null = null;

port.on("message", (request: FitRequest) => post(answer(request)));

function post(message: FitAnswer): void {
  port.postMessage(message);
}

function answer({ id, input, seed, previous }: FitRequest): FitAnswer {
  const began = performance.now();
  try {
    last ??= previous === null ? null : CoordinateModel.fromState(previous);
    last = fitCoordinates(input, { seed, ...(last === null ? {} : { previous: last }) });
    return { id, state: last.toState(), durationMs: performance.now() - began };
  } catch (error) {
    // The starting point may be the cause of the failure.
    last = null;
    return { id, failure: reasonOf(error) };
  }
}

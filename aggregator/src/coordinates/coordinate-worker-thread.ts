// The thread in which coordinates are fitted: seconds of arithmetic that requests must not wait for.
import { parentPort } from "node:worker_threads";
import { CoordinateModel, fitCoordinates } from "@isochrone/topology/coordinates";
import { reasonOf } from "@isochrone/primitives";
import type { FitAnswer, FitRequest } from "./coordinate-messages.ts";

const port = parentPort!;

/** The model of the fit before; the state that is posted is a copy of its. */
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
    // What it started from may be what it failed at.
    last = null;
    return { id, failure: reasonOf(error) };
  }
}

// A thread that fits once and crashes at the next request. Restarted, it refuses, and reports whether it got
// the first result.
import { parentPort } from "node:worker_threads";
import { fitCoordinates } from "@isochrone/topology/coordinates";
import type { FitAnswer, FitRequest } from "../coordinates/coordinate-messages.ts";

const port = parentPort!;
const post = (message: FitAnswer): void => port.postMessage(message);
let served = 0;

port.on("message", ({ id, input, seed, previous }: FitRequest) => {
  if (previous !== null) {
    post({ id, failure: `starts from ${previous.names.length} nodes` });
    return;
  }
  if (served++ > 0) throw new Error("no second time");
  const state = fitCoordinates(input, { seed }).toState();
  post({ id, state, durationMs: 1 });
});

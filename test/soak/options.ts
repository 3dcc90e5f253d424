import { parseArgs } from "node:util";
import { numberOption } from "./numbers.ts";

/** How a run is to be. */
export interface SoakOptions {
  readonly durationMs: number;
  readonly seed: number;
  /** Requests per second to the workflow's entry. */
  readonly requestsPerSecond: number;
  /** What the 99th percentile of the graph API's answer times must stay below. */
  readonly maxGraphP99Ms: number;
}

const USAGE =
  "npm run soak -- [--minutes N (10)] [--seed N (1)] [--rate requests/s (10)] [--max-graph-p99 ms (250)]";

/** Throws an Error that says what is wrong and how it is used. */
export function readOptions(args: readonly string[]): SoakOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: "string", default: "10" },
      seed: { type: "string", default: "1" },
      rate: { type: "string", default: "10" },
      "max-graph-p99": { type: "string", default: "250" },
    },
  });
  return {
    durationMs: numberOption("--minutes", values.minutes, 3, 24 * 60, USAGE) * 60_000,
    seed: numberOption("--seed", values.seed, 0, 2 ** 31, USAGE),
    requestsPerSecond: numberOption("--rate", values.rate, 1, 1000, USAGE),
    maxGraphP99Ms: numberOption("--max-graph-p99", values["max-graph-p99"], 1, 60_000, USAGE),
  };
}

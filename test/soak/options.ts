import { parseArgs } from "node:util";
import { numberOption } from "./numbers.ts";

export interface SoakOptions {
  readonly durationMs: number;
  readonly seed: number;
  readonly requestsPerSecond: number;
  /** Upper limit of the graph API's p99 response time. */
  readonly maxGraphP99Ms: number;
}

const USAGE =
  "npm run soak -- [--minutes N (10)] [--seed N (1)] [--rate requests/s (10)] [--max-graph-p99 ms (250)]";

/** Throws an Error with the problem and the usage. */
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

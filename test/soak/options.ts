import { parseArgs } from "node:util";

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
    durationMs: number("--minutes", values.minutes, 3, 24 * 60) * 60_000,
    seed: number("--seed", values.seed, 0, 2 ** 31),
    requestsPerSecond: number("--rate", values.rate, 1, 1000),
    maxGraphP99Ms: number("--max-graph-p99", values["max-graph-p99"], 1, 60_000),
  };
}

function number(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= min && value <= max) return value;
  throw new Error(`${name} must be a number from ${min} to ${max}, got "${text}"\n${USAGE}`);
}

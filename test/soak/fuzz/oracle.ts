import { hasHidden } from "@isochrone/runtime/testing";
import type { Draws } from "./random.ts";

export interface Outcome {
  /** Whether the input was accepted in whole or in part. False: rejected with a coded error. */
  readonly isTaken: boolean;
  readonly output?: unknown;
  /** Text shown to users. Must contain no hidden characters. */
  readonly shown?: string;
}

export interface Target {
  readonly name: string;
  /** Inputs that are fully accepted. */
  readonly seeds: readonly Uint8Array[];
  /** Number of inputs in `npm test`. */
  readonly iterations: number;
  mutate(draws: Draws): Uint8Array;
  run(input: Uint8Array): Outcome | Promise<Outcome>;
  close?(): Promise<void>;
}

export class Violation extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Violation";
  }
}

/** CPU of all threads. The slack allows for a garbage collection during an input. */
const SECONDS_PER_MB = 1;
const SLACK_SECONDS = 1;
const HEAP_BOUND_BYTES = 512 * 1024 * 1024;
const MOST_SCANNED = 200_000;

export async function examine(target: Target, input: Uint8Array): Promise<Outcome> {
  const before = process.cpuUsage();
  const heapBefore = process.memoryUsage.rss();
  let outcome: Outcome;
  try {
    outcome = await target.run(input);
  } catch (error) {
    if (error instanceof Violation) throw error;
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    throw new Violation(`an error without a code: ${text.slice(0, 300)}`, { cause: error });
  }
  const { user, system } = process.cpuUsage(before);
  const seconds = (user + system) / 1e6;
  const most = SLACK_SECONDS + (SECONDS_PER_MB * input.length) / 1e6;
  if (seconds > most)
    throw new Violation(
      `${input.length} bytes took ${seconds.toFixed(2)} s of CPU, at most ${most.toFixed(2)} s`,
    );
  const grown = process.memoryUsage.rss() - heapBefore;
  if (grown > HEAP_BOUND_BYTES) throw new Violation(`${input.length} bytes took ${grown} bytes of memory`);
  const path = notFinite(outcome.output);
  if (path !== null) throw new Violation(`a number that is not finite came out at ${path}`);
  if (outcome.shown !== undefined && hasHidden(outcome.shown.replaceAll(/[\n\t]/g, "")))
    throw new Violation(
      `what people see holds hidden characters: ${JSON.stringify(outcome.shown.slice(0, 200))}`,
    );
  return outcome;
}

/** Path of a non-finite number; null: none. Not recursive, because outputs may be deep. */
function notFinite(root: unknown): string | null {
  const open: [string, unknown][] = [["output", root]];
  for (let seen = 0; open.length > 0 && seen < MOST_SCANNED; seen++) {
    const [path, value] = open.pop()!;
    if (typeof value === "number" && !Number.isFinite(value)) return `${path} (${value})`;
    if (typeof value !== "object" || value === null) continue;
    const entries = value instanceof Map ? value.entries() : Object.entries(value);
    for (const [name, field] of entries) open.push([`${path}.${String(name)}`, field]);
  }
  return null;
}

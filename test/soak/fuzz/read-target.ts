import { visible } from "@isochrone/runtime";
import { mutateJson, mutateText } from "./mutate.ts";
import type { Outcome, Target } from "./oracle.ts";

type Expected = new (...args: never[]) => Error;

interface TextTarget {
  readonly name: string;
  readonly iterations: number;
  readonly seeds: readonly string[];
  /** Error classes of rejections. */
  readonly refusals?: readonly Expected[];
  readonly run: (text: string) => Outcome | Promise<Outcome>;
}

export function textTarget({ name, iterations, seeds, refusals = [], run }: TextTarget): Target {
  return {
    name,
    iterations,
    seeds: seeds.map((seed) => Buffer.from(seed)),
    mutate: (draws) => Buffer.from(mutateText(draws, draws.pick(seeds), seeds)),
    run: (input) => refusing(refusals, () => run(Buffer.from(input).toString("utf8"))),
  };
}

interface JsonTarget extends Omit<TextTarget, "seeds" | "run"> {
  readonly seeds: readonly unknown[];
  readonly run: (json: any) => Outcome; // oxlint-disable-line typescript/no-explicit-any
}

export function jsonTarget({ name, iterations, seeds, refusals = [], run }: JsonTarget): Target {
  return {
    name,
    iterations,
    seeds: seeds.map((seed) => Buffer.from(JSON.stringify(seed))),
    mutate: (draws) => Buffer.from(mutateJson(draws, seeds)),
    run: (input) =>
      refusing(refusals, () => {
        let json: unknown;
        try {
          json = JSON.parse(Buffer.from(input).toString("utf8"));
        } catch {
          return { isTaken: false };
        }
        return run(json);
      }),
  };
}

async function refusing(
  refusals: readonly Expected[],
  run: () => Outcome | Promise<Outcome>,
): Promise<Outcome> {
  try {
    return await run();
  } catch (error) {
    // A terminal shows its message through the escaping writer.
    if (refusals.some((known) => error instanceof known))
      return { isTaken: false, shown: visible((error as Error).message) };
    throw error;
  }
}

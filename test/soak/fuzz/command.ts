// `npm run soak -- fuzz`: fuzzes every parser of foreign input.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { numberOption } from "../numbers.ts";
import { fuzz, type Found } from "./fuzz.ts";
import { TARGETS } from "./targets.ts";

const USAGE =
  "npm run soak -- fuzz [--minutes N (10, for all targets together)] [--seed N (of the clock)] [--target NAME (all)] [--at N (one input)] [--out FOLDER (fuzz-findings)]";
const MAX_SEED = 2 ** 31;

/** Returns false if an input broke a rule. Prints the command that recreates the input. */
export async function runFuzz(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: "string", default: "10" },
      seed: { type: "string", default: String(Date.now() % MAX_SEED) },
      target: { type: "string" },
      at: { type: "string" },
      out: { type: "string", default: "fuzz-findings" },
    },
  });
  const minutes = numberOption("--minutes", values.minutes, 0.01, 10_000, USAGE);
  const seed = numberOption("--seed", values.seed, 0, MAX_SEED, USAGE);
  const at = values.at === undefined ? null : numberOption("--at", values.at, 0, 2 ** 53, USAGE);
  const names = values.target === undefined ? Object.keys(TARGETS) : [values.target];
  const unknown = names.find((name) => !Object.hasOwn(TARGETS, name));
  if (unknown !== undefined)
    throw new Error(`--target must be one of ${Object.keys(TARGETS).join(", ")}, got "${unknown}"\n${USAGE}`);
  const eachMs = (minutes * 60_000) / names.length;
  console.log(`seed ${seed}, ${names.length} targets, ${(eachMs / 1000).toFixed(0)} s each`);
  let isGood = true;
  for (const name of names) {
    const target = await TARGETS[name]!();
    const untilMs = performance.now() + eachMs;
    const isOver = at === null ? () => performance.now() >= untilMs : (next: number) => next > at;
    try {
      const { inputs, taken, found } = await fuzz(target, { seed, isOver, from: at ?? 0 });
      console.log(`${found.length === 0 ? "ok    " : "FAILED"} ${name}: ${inputs} inputs, ${taken} taken`);
      for (const each of found) report(each, values.out);
      if (found.length > 0) isGood = false;
    } finally {
      await target.close?.();
    }
  }
  return isGood;
}

function report({ target, seed, at, input, message }: Found, folder: string): void {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${target}-${seed}-${at}.bin`);
  writeFileSync(file, input);
  console.log(`       ${message}`);
  console.log(`       ${file}; again: npm run soak -- fuzz --target ${target} --seed ${seed} --at ${at}`);
}

// `npm run soak -- figures`: compares every published figure of drawn clusters with the known truth.
import { parseArgs } from "node:util";
import { drawOf } from "../harness/figures/draw.ts";
import { runDraw } from "../harness/figures/run-draw.ts";
import { numberOption } from "./numbers.ts";

const USAGE = "npm run soak -- figures [--draws N (1000)] [--seed N (1: of the first draw)]";

const PROGRESS_DRAWS = 100;

/** Returns false if a figure was wrong or missing, and prints the command that repeats its draw. */
export async function runFigures(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { draws: { type: "string", default: "1000" }, seed: { type: "string", default: "1" } },
  });
  const draws = numberOption("--draws", values.draws, 1, 1_000_000, USAGE);
  const first = numberOption("--seed", values.seed, 0, 2 ** 31, USAGE);
  const total = { compared: 0, wrong: 0, failed: 0 };
  const unknown = new Map<string, number>();
  const leftOut = new Map<string, number>();
  for (let seed = first; seed < first + draws; seed++) {
    const outcome = await runDraw(drawOf(seed));
    total.compared += outcome.compared;
    if ((seed - first + 1) % PROGRESS_DRAWS === 0) console.log(`${seed - first + 1} draws done`);
    total.wrong += outcome.mistakes.length;
    for (const name of outcome.unknown) add(unknown, name.slice(name.lastIndexOf(" ") + 1), 1);
    for (const [reason, count] of outcome.leftOut) add(leftOut, reason, count);
    if (outcome.mistakes.length === 0) continue;
    total.failed++;
    console.log(`FAILED npm run soak -- figures --draws 1 --seed ${seed}`);
    for (const mistake of outcome.mistakes) console.log(`       ${mistake}`);
  }
  console.log(`${draws} draws, ${total.compared} figures: ${total.wrong} wrong, in ${total.failed} draws`);
  console.log(`told by nobody, and published as unknown: ${listed(unknown)}`);
  console.log(`points left out and counted: ${listed(leftOut)}`);
  return total.failed === 0;
}

function add(counts: Map<string, number>, name: string, count: number): void {
  counts.set(name, (counts.get(name) ?? 0) + count);
}

function listed(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([name, count]) => `${name} ${count}`).join(", ") || "none";
}

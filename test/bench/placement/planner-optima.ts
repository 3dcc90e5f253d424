// Computes optima for the planner's tests: `node tools/node24.mjs test/bench/placement/planner-optima.ts`.
// Skips instances without a complete plan or a proven optimum.
import { writeFileSync } from "node:fs";
import { MONEY_LEADS, plan } from "@isochrone/placement";
import { defaultMatrix } from "@isochrone/lab/testing";
import { optimum, pricedProblem, siteProblem, smallProblem } from "@isochrone/placement/planner-testing";

const INSTANCES = 200;
const LIMIT = 500_000;
const OPTIONS = { seed: 1, now: (): number => 0, deadlineMs: 1 };

/** Problems of 27 services on 9 hosts, and searches for each: some converge on plans that others miss. */
const SITES = 11;
const SITE_SEARCHES = 8;

writeBestKnown();
write("optima.json", (seed) => {
  const problem = smallProblem(seed);
  const { assignment } = plan(problem, OPTIONS);
  return { found: optimum(problem, assignment, { limit: LIMIT }), more: [] };
});
write("money-optima.json", (seed) => {
  const problem = pricedProblem(smallProblem(seed), seed);
  const settings = { moneyShare: MONEY_LEADS };
  const { assignment, latencyLimit } = plan(problem, { ...OPTIONS, ...settings });
  if (latencyLimit === null) return { found: null, more: [] };
  const found = optimum(problem, assignment, { limit: LIMIT, settings, latencyLimit });
  return { found, more: [latencyLimit] };
});

interface Proof {
  /** Null: not proven. */
  readonly found: ReturnType<typeof optimum>;
  readonly more: readonly number[];
}

function write(name: string, prove: (seed: number) => Proof): void {
  const optima: number[][] = [];
  const passed = { infeasible: 0, unproven: 0 };
  for (let seed = 1; optima.length < INSTANCES; seed++) {
    const { found, more } = prove(seed);
    if (found === null) passed.unproven++;
    else if (found.assignment === null) passed.infeasible++;
    else optima.push([seed, found.total, found.visited, ...more]);
    if (seed % 20 === 0) console.log(`${seed}: ${optima.length} proven, ${JSON.stringify(passed)}`);
  }
  writeRows(name, optima);
}

/** Without proven optima: the best of many converged searches. */
function writeBestKnown(): void {
  const matrix = defaultMatrix();
  const rows: number[][] = [];
  for (let seed = 1; seed <= SITES; seed++) {
    const problem = siteProblem(seed, matrix);
    const totals = Array.from(
      { length: SITE_SEARCHES },
      (_, search) => plan(problem, { ...OPTIONS, seed: 100 + search }).cost.total,
    );
    rows.push([seed, Math.min(...totals)]);
  }
  writeRows("site-best.json", rows);
}

function writeRows(name: string, rows: readonly (readonly number[])[]): void {
  const file = new URL(`../../../packages/placement/src/planner/testing/${name}`, import.meta.url);
  writeFileSync(file, `[\n${rows.map((row) => `  ${JSON.stringify(row)}`).join(",\n")}\n]\n`);
}

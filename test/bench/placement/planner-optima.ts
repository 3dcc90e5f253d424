// Finds the optima that the planner's tests compare with, and writes them beside these tests:
// `node tools/node24.mjs test/bench/placement/planner-optima.ts`. Instances that have no complete plan, or
// whose optimum isn't proven within the limit, are passed over.
import { writeFileSync } from "node:fs";
import { plan } from "@isochrone/placement";
import { optimum, smallProblem } from "@isochrone/placement/planner-testing";

const INSTANCES = 200;
/** Nodes of the search tree. */
const LIMIT = 500_000;

const file = new URL("../../../packages/placement/src/planner/testing/optima.json", import.meta.url);
const optima: [seed: number, total: number, visited: number][] = [];
const passed = { infeasible: 0, unproven: 0 };
for (let seed = 1; optima.length < INSTANCES; seed++) {
  const problem = smallProblem(seed);
  // A good plan to begin with: the proof needs to look at less.
  const { assignment } = plan(problem, { seed: 1, now: () => 0, deadlineMs: 1 });
  const found = optimum(problem, assignment, LIMIT);
  if (found === null) passed.unproven++;
  else if (found.assignment === null) passed.infeasible++;
  else optima.push([seed, found.total, found.visited]);
  if (seed % 20 === 0) console.log(`${seed}: ${optima.length} proven, ${JSON.stringify(passed)}`);
}
const rows = optima.map((row) => `  ${JSON.stringify(row)}`);
writeFileSync(file, `[\n${rows.join(",\n")}\n]\n`);

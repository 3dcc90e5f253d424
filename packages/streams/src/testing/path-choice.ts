// ENTS, problem P3, as a mixed-integer linear program. The paper calls it nonlinear; with rates V_i / t,
// optimal for a min-max, the products of rates and choices vanish.
import { LinearProgram } from "@isochrone/primitives/algorithms";
import type { Path } from "../paths.ts";
import type { Demand } from "../placed-job.ts";
import { SECONDS } from "../proofs/allocation.ts";

export function pathChoiceProgram(
  demands: readonly Demand[],
  candidates: readonly (readonly Path[])[],
  capacities: Float64Array,
): LinearProgram {
  const program = new LinearProgram();
  program.cost(1, SECONDS);
  const loads = new Map<number, [number, string][]>();
  for (const [at, { bitsPerFrame }] of demands.entries()) {
    const choices = candidates[at]!.map((_, path) => `y${at}_${path}`);
    for (const [path, { hops }] of candidates[at]!.entries()) {
      program.binary(choices[path]!);
      for (const hop of hops) {
        const terms = loads.get(hop) ?? [];
        terms.push([bitsPerFrame / capacities[hop]!, choices[path]!]);
        loads.set(hop, terms);
      }
    }
    program.row(
      choices.map((name) => [1, name] as const),
      "=",
      1,
    );
  }
  for (const terms of loads.values()) program.row([...terms, [-1, SECONDS]], "<=", 0);
  return program;
}

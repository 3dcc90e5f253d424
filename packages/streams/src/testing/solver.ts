// HiGHS on this thread.
import type { LinearSolver } from "@isochrone/primitives";
import highsModule from "highs";

// The types say CommonJS, but `import` is given the module whose default export is the loader itself.
const load = highsModule as unknown as typeof highsModule.default;

/** A solver whose optimum is proven up to a part of 10^-6. */
export async function testSolver(): Promise<LinearSolver> {
  const highs = await load();
  return async (program, timeMs) => {
    const { Status, Columns, ObjectiveValue } = highs.solve(program, {
      time_limit: timeMs / 1_000,
      mip_rel_gap: 1e-6,
    });
    if (Status !== "Optimal")
      return {
        status: Status === "Infeasible" ? "infeasible" : "unfinished",
        values: new Map(),
        bound: ObjectiveValue,
      };
    const values = Object.entries(Columns).map(([name, column]): [string, number] => [
      name,
      "Primal" in column && typeof column.Primal === "number" ? column.Primal : 0,
    ]);
    return { status: "optimal", values: new Map(values), bound: ObjectiveValue };
  };
}

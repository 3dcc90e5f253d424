import type { LinearSolver } from "@isochrone/primitives/algorithms";
import highsModule from "highs";

const load = highsModule as unknown as typeof highsModule.default;

export async function testSolver(gap = 1e-6): Promise<LinearSolver> {
  const highs = await load();
  return async (program, timeMs) => {
    const { Status, Columns, ObjectiveValue } = highs.solve(program, {
      time_limit: timeMs / 1_000,
      mip_rel_gap: gap,
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

// Runs HiGHS on this thread: experiments decide between load intervals, when nothing else runs.
import type { LinearSolution, LinearSolver } from "@isochrone/primitives/algorithms";
import highsModule from "highs";

const RELATIVE_GAP = 1e-7;

// The types say CommonJS, but `import` returns a module whose default export is the loader.
const load = highsModule as unknown as typeof highsModule.default;

let loaded: ReturnType<typeof load> | null = null;

/** Loads the module once; it keeps no state between programs. */
export async function loadSolver(): Promise<LinearSolver> {
  const highs = await (loaded ??= load());
  return async (program, timeMs): Promise<LinearSolution> => {
    const { Status, Columns, ObjectiveValue } = highs.solve(program, {
      time_limit: timeMs / 1_000,
      mip_rel_gap: RELATIVE_GAP,
    });
    if (Status === "Infeasible") return { status: "infeasible", values: new Map(), bound: Infinity };
    if (Status !== "Optimal") return { status: "unfinished", values: new Map(), bound: ObjectiveValue };
    const values = Object.entries(Columns).map(([name, column]) => [name, primalOf(column)] as const);
    return { status: "optimal", values: new Map(values), bound: ObjectiveValue };
  };
}

function primalOf(column: object): number {
  return "Primal" in column && typeof column.Primal === "number" ? column.Primal : 0;
}

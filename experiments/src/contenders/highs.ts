// HiGHS on this thread: experiments decide before and between stretches, when nothing else is to be done.
import type { LinearSolution, LinearSolver } from "@isochrone/primitives/algorithms";
import highsModule from "highs";

/** The solver stops when it has proven that nothing is better by more than this part. */
const RELATIVE_GAP = 1e-7;

// The types say CommonJS, but `import` is given the module whose default export is the loader itself.
const load = highsModule as unknown as typeof highsModule.default;

let loaded: ReturnType<typeof load> | null = null;

/** The module is loaded once, with the first program; it keeps nothing from one program to the next. */
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

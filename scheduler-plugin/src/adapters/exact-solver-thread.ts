import { parentPort } from "node:worker_threads";
import highsModule from "highs";
import { reasonOf } from "@isochrone/primitives";
import type { SolveAnswer, SolveRequest } from "./exact-solver-messages.ts";

const RELATIVE_GAP = 1e-7;

// The types say CommonJS; `import` returns the module whose default export is the loader.
const load = highsModule as unknown as typeof highsModule.default;
const highs = load();

const port = parentPort!;

function post(answer: SolveAnswer): void {
  port.postMessage(answer);
}

port.on("message", (request: SolveRequest) => {
  void answerTo(request).then(post);
});

async function answerTo({ id, program, timeMs }: SolveRequest): Promise<SolveAnswer> {
  try {
    const solver = await highs;
    const solution = solver.solve(program, { time_limit: timeMs / 1_000, mip_rel_gap: RELATIVE_GAP });
    const status = statusOf(solution.Status);
    const values = new Map(
      status === "optimal"
        ? Object.entries(solution.Columns).map(([name, column]) => [name, primalOf(column)])
        : [],
    );
    return { id, status, values, objective: solution.ObjectiveValue };
  } catch (error) {
    return { id, failure: reasonOf(error) };
  }
}

function statusOf(status: string): "optimal" | "infeasible" | "unfinished" {
  if (status === "Optimal") return "optimal";
  if (status === "Infeasible") return "infeasible";
  if (status === "Time limit reached") return "unfinished";
  throw new Error(`its status is ${status}`);
}

function primalOf(column: object): number {
  return "Primal" in column && typeof column.Primal === "number" ? column.Primal : 0;
}

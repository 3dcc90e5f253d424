import type { LinearSolution } from "@isochrone/primitives/algorithms";
import { AnsweringThread } from "@isochrone/runtime";
import type { Clock, ThreadOutcome } from "@isochrone/runtime";
import { ExactSolverError } from "./exact-solver-error.ts";
import type { SolveAnswer, SolveRequest } from "./exact-solver-messages.ts";

interface ExactSolverOptions {
  readonly clock: Clock;
  /** Entry file of the thread. @default exact-solver-thread.ts */
  readonly threadUrl?: URL;
}

/** Time for messages and for loading the solver, on top of the solver's limit. */
const GRACE_MS = 5_000;

/** Runs HiGHS in a thread, one program at a time. A dead or hung thread is replaced with the next program. */
export class ExactSolver {
  readonly #thread: AnsweringThread<SolveRequest, SolveAnswer>;

  constructor({ clock, threadUrl }: ExactSolverOptions) {
    const url = threadUrl ?? new URL("./exact-solver-thread.ts", import.meta.url);
    this.#thread = new AnsweringThread({ url, name: "isochrone-exact", clock });
  }

  readonly solve = async (program: string, timeMs: number): Promise<LinearSolution> => {
    const timeoutMs = timeMs + GRACE_MS;
    const outcome = await this.#thread.ask({ program, timeMs }, timeoutMs);
    if (outcome.kind !== "answer") throw errorOf(outcome, timeoutMs);
    const { answer } = outcome;
    if ("failure" in answer) {
      const message = `the solver refused the program: ${answer.failure}`;
      throw new ExactSolverError("exact_solver_failed", message);
    }
    const { status, values, objective } = answer;
    return { status, values, bound: objective };
  };

  async close(): Promise<void> {
    await this.#thread.close();
  }
}

function errorOf(
  outcome: Exclude<ThreadOutcome<SolveAnswer>, { kind: "answer" }>,
  timeoutMs: number,
): ExactSolverError {
  if (outcome.kind === "busy")
    return new ExactSolverError("exact_solver_busy", "one program is solved at a time");
  if (outcome.kind === "closed") return new ExactSolverError("exact_solver_closed", "the solver was closed");
  if (outcome.kind === "timeout") {
    const message = `a program must be solved within ${timeoutMs} ms; the thread was ended`;
    return new ExactSolverError("exact_solver_timeout", message);
  }
  const { cause } = outcome;
  return new ExactSolverError("exact_solver_failed", "the solver's thread died", { cause });
}

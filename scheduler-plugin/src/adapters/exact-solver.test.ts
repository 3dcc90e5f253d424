import { exactPlan } from "@isochrone/placement";
import { systemClock } from "@isochrone/runtime";
import { afterEach, expect, test } from "vitest";
import { randomProblem } from "@isochrone/placement/planner-testing";
import { EXACT_SOLVER_ERROR_CODES, ExactSolverError } from "./exact-solver-error.ts";
import { ExactSolver } from "./exact-solver.ts";

const open: ExactSolver[] = [];
afterEach(async () => {
  for (const solver of open.splice(0)) await solver.close();
});

function solver(threadUrl?: URL): ExactSolver {
  const made = new ExactSolver({ clock: systemClock, ...(threadUrl === undefined ? {} : { threadUrl }) });
  open.push(made);
  return made;
}

const TINY = "Minimize\n cost: x + 2 y\nSubject To\n r0: x + y >= 1\nBinaries\n x\n y\nEnd\n";

test("problems that the program doesn't model are refused with the reason", async () => {
  const { solve } = solver();
  const options = { solve, now: () => 0, deadlineMs: 1 };
  expect(await exactPlan(randomProblem(1, { pods: 9, nodes: 9 }), options)).toEqual({
    kind: "unsupported",
    reason: "it has 81 pairs of a pod and a node, at most 40 are solved exactly",
  });
  expect(await exactPlan(randomProblem(1, { pods: 4, nodes: 4, nearest: 1 }), options)).toEqual({
    kind: "unsupported",
    reason: "a channel goes to the nearest replica",
  });
});

test("a program that the solver can't read is an error, and the next one is solved", async () => {
  const { solve } = solver();
  await expect(solve("nonsense", 1_000)).rejects.toThrow(ExactSolverError);
  expect((await solve(TINY, 5_000)).values.get("x")).toBe(1);
});

test("one program at a time, and none after the solver was closed while it worked", async () => {
  const busy = solver();
  const first = busy.solve(TINY, 5_000);
  await expect(busy.solve(TINY, 5_000)).rejects.toMatchObject({ code: "exact_solver_busy" });
  await first;
  const second = busy.solve(TINY, 5_000);
  await Promise.all([expect(second).rejects.toMatchObject({ code: "exact_solver_closed" }), busy.close()]);
});

test("a thread that dies is replaced with the next program", async () => {
  const dying = solver(new URL("data:text/javascript,process.exit(3)"));
  await expect(dying.solve(TINY, 5_000)).rejects.toMatchObject({ code: "exact_solver_failed" });
  await expect(dying.solve(TINY, 5_000)).rejects.toMatchObject({ code: "exact_solver_failed" });
});

test("every code is one of the list", () => {
  for (const code of EXACT_SOLVER_ERROR_CODES)
    expect(new ExactSolverError(code, "words")).toMatchObject({ code, name: "ExactSolverError" });
});

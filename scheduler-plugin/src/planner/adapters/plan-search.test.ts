import { planProblem, SchedulingModel } from "@isochrone/placement";
import type { PlanProblem } from "@isochrone/placement";
import type { LinearSolver } from "@isochrone/primitives/algorithms";
import { systemClock } from "@isochrone/runtime";
import { ManualClock } from "@isochrone/runtime/testing";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { clusterSnapshot, workflowSnapshot } from "../../testing/graphs.ts";
import { ExactSolver } from "../../adapters/exact-solver.ts";
import { planSentences } from "../plan-words.ts";
import { PlanSearch } from "./plan-search.ts";
import type { PlanSearchOptions } from "./plan-search.ts";

const OPTIONS = { seed: 1, budgetMs: 200, bytesPerRequest: 2_000, maxCpuUse: 0, maxAlternatives: 4 };

function problemOf(snapshot = clusterSnapshot(), names = ["p-1"]): PlanProblem {
  const nodes = snapshot.nodes.map(({ name }) => ({
    metadata: { name, labels: { "kubernetes.io/hostname": name } },
    status: {
      allocatable: { cpu: "4", memory: "8Gi", pods: "10" },
      conditions: [{ type: "Ready", status: "True" }],
    },
  }));
  const pods = names.map((name) => ({
    metadata: { name, namespace: "shop", labels: {} },
    spec: { containers: [{ resources: { requests: { cpu: "1500m" } } }] },
  }));
  return planProblem({
    model: SchedulingModel.of({ nodes, pods: [] }),
    pods,
    cluster: new ClusterGraph(snapshot),
    workflow: new WorkflowGraph(workflowSnapshot()),
    workloadOf: ({ metadata }) => metadata.name[0]!,
  });
}

function searchBy(options: Partial<PlanSearchOptions> = {}): PlanSearch {
  const search = new PlanSearch({ clock: systemClock, inlinePairs: 0, ...options });
  onTestFinished(() => search.close());
  return search;
}

const threadOf = (text: string): URL => new URL(`data:text/javascript,${encodeURIComponent(text)}`);

const thatThen = (text: string): URL =>
  threadOf(`import { parentPort } from "node:worker_threads"; parentPort.on("message", ({ id, task }) => {
    if (task === null) parentPort.postMessage({ id });
    else { ${text} }
  })`);

const HANGS = thatThen("while (true);");

describe("the search for a plan", () => {
  test("looks at what is used in a thread as it does here: n2 is near, and busy", async () => {
    const snapshot = clusterSnapshot();
    const problem = problemOf(snapshot);
    const heedful = { ...OPTIONS, maxCpuUse: 0.8 };
    const here = await searchBy({ inlinePairs: 1_000 }).run(problem, snapshot, heedful);
    const search = searchBy();
    await search.start();
    const there = await search.run(problem, snapshot, heedful);
    expect(problem.nodes[there.assignment[0]!]!.name).toBe("n1");
    expect(there.cost).toEqual(here.cost);
  });

  test("plans by money in a thread as it does here", async () => {
    const snapshot = clusterSnapshot();
    const perByte = Float64Array.of(0, 1e-11, 1e-11, 0);
    const places = { currency: "USD", placeOf: Int32Array.of(0, 0, 1), places: 2, perByte };
    const problem = { ...problemOf(snapshot), prices: { ...places, unknown: [], unknownPairs: 0 } };
    const thrifty = { ...OPTIONS, moneyShare: 0.9, maxLatencyLoss: 5 };
    const here = await searchBy({ inlinePairs: 1_000 }).run(problem, snapshot, thrifty);
    const search = searchBy();
    await search.start();
    const there = await search.run(problem, snapshot, thrifty);
    expect(there.costs!.perMonth).toBeGreaterThanOrEqual(0);
    const told = ({ cost, costs, fallback, latencyLimit }: typeof here): unknown[] => [
      cost,
      costs,
      fallback,
      latencyLimit,
    ];
    expect(told(there)).toEqual(told(here));
  });

  test("knows zones that starve in a thread as it does here, and says what they lack", async () => {
    const zones = { n1: "a", n2: "b", n3: "b" };
    const plain = clusterSnapshot();
    const snapshot = {
      ...plain,
      nodes: plain.nodes.map((node) => ({ ...node, zone: zones[node.name as keyof typeof zones] })),
    };
    const flow = workflowSnapshot();
    const [channel] = flow.channels;
    const workflow = new WorkflowGraph({
      ...flow,
      workloads: [
        {
          ...flow.workloads[0]!,
          name: "web",
          pods: [
            { name: "w-1", node: "n1" },
            { name: "w-2", node: "n1" },
            { name: "w-3", node: "n2" },
          ],
        },
        {
          ...flow.workloads[0]!,
          name: "p",
          cpuMillicores: 600,
          pods: [
            { name: "p-0", node: "n1" },
            { name: "p-2", node: "n3" },
          ],
        },
        ...flow.workloads.filter(({ name }) => name !== "p"),
      ],
      channels: [
        {
          ...channel!,
          source: "web",
          target: "p",
          bytesPerSecond: 1_000,
          routing: "nearest",
          routingScopes: ["zone"],
        },
        { ...channel!, source: "p", target: "q", bytesPerSecond: 900 },
      ],
    });
    const { cluster, ...rest } = problemOf(snapshot);
    const nodes = rest.nodes.map((node) => ({ ...node, zone: zones[node.name as keyof typeof zones] }));
    // Limit 800 millicores, of which 75 % = 600 may be used. Zone a asks for 800.
    const problem = { ...rest, nodes, cluster, workflow, replicaCpu: new Map([["p", 800]]) };
    const heedful = { ...OPTIONS, maxCpuUse: 0.75 };
    const here = await searchBy({ inlinePairs: 1_000 }).run(problem, snapshot, heedful);
    const search = searchBy();
    await search.start();
    const there = await search.run(problem, snapshot, heedful);
    expect(problem.nodes[there.assignment[0]!]!.name).toBe("n1");
    expect(there.cost).toEqual(here.cost);
    expect(there.lacks).toEqual([{ workload: "p", before: expect.closeTo(200, 6), after: 0 }]);
    expect(planSentences({ key: "shop/flow" }, there)).toContain(
      "Zones ask the replicas of p for 200 millicores more than they may use; with this plan 0.",
    );
  });

  test("finds in a thread what it finds here, twice by the same graph", async () => {
    const snapshot = clusterSnapshot();
    const problem = problemOf(snapshot);
    const here = await searchBy({ inlinePairs: 1_000 }).run(problem, snapshot, OPTIONS);
    const search = searchBy();
    await search.start();
    for (let time = 0; time < 2; time++) {
      const there = await search.run(problem, snapshot, OPTIONS);
      expect(there.assignment).toEqual(here.assignment);
      expect(there.cost).toEqual(here.cost);
      expect(there.alternatives).toEqual(here.alternatives);
    }
    // p exchanges twice as much with q on n2 as with r on n3.
    expect(problem.nodes[here.assignment[0]!]!.name).toBe("n2");
    expect(here.alternatives[0]!.map(({ delta }) => delta >= 0)).toEqual([true, true]);
  });

  test("in a thread is on the nodes of the problem at hand, whichever those before had", async () => {
    const snapshot = clusterSnapshot();
    const search = searchBy();
    await search.start();
    for (const left of [0, 1, 1, 0]) {
      const problem = problemOf({ ...snapshot, nodes: snapshot.nodes.slice(left) });
      const here = await searchBy({ inlinePairs: 1_000 }).run(problem, null, OPTIONS);
      const there = await search.run(problem, snapshot, OPTIONS);
      expect(there.assignment).toEqual(here.assignment);
      expect(problem.nodes[there.assignment[0]!]!.name).toBe("n2");
    }
  });

  test("is done here when nobody has the graph's snapshot", async () => {
    const search = searchBy({ threadUrl: threadOf("throw new Error('not to be started')") });
    expect((await search.run(problemOf(), null, OPTIONS)).complete).toBe(true);
  });

  test("of a very small problem is proven by the solver, whose failures don't matter", async () => {
    // Two pods fit on a node, so not all can have their best node: the bound is unreachable.
    const problem = problemOf(clusterSnapshot(), ["p-1", "p-2", "p-3", "q-2", "r-2"]);
    const solver = new ExactSolver({ clock: systemClock });
    onTestFinished(() => solver.close());
    const solve = vi.fn<LinearSolver>(solver.solve);
    const proven = searchBy({ inlinePairs: 1_000, solve });
    // Loading the solver is slow on a busy machine.
    const found = await proven.run(problem, null, { ...OPTIONS, budgetMs: 20_000 });
    expect(solve).toHaveBeenCalled();
    expect(found.ended).toBe("optimal");
    expect(found.cost.total - found.lowerBound).toBeLessThan(1e-3 * found.cost.total);
    const failing = searchBy({ inlinePairs: 1_000, solve: () => Promise.reject(new Error("it broke")) });
    const unproven = await failing.run(problem, null, OPTIONS);
    expect(unproven.complete).toBe(true);
    expect(unproven.cost.total).toBeGreaterThanOrEqual(found.cost.total * (1 - 1e-5));
  });

  test("doesn't wait for a thread that is starting, or that can't", async () => {
    const search = searchBy({ threadUrl: threadOf("process.exit(3)") });
    for (let time = 0; time < 2; time++) {
      expect((await search.run(problemOf(), clusterSnapshot(), OPTIONS)).complete).toBe(true);
      await search.start();
    }
  });

  test("says that a thread died, and goes on with the next", async () => {
    const search = searchBy({
      threadUrl: thatThen("process.exit(3)"),
    });
    for (let time = 0; time < 2; time++) {
      await search.start();
      await expect(search.run(problemOf(), clusterSnapshot(), OPTIONS)).rejects.toMatchObject({
        code: "plan_thread_died",
      });
    }
  });

  test("ends a thread that hangs", async () => {
    const clock = new ManualClock();
    const search = searchBy({ clock, threadUrl: HANGS });
    await search.start();
    const failed = search.run(problemOf(), clusterSnapshot(), OPTIONS).catch((error: unknown) => error);
    await clock.advance(10_000);
    expect(await failed).toMatchObject({ code: "plan_timeout" });
  });

  test("is given up when the planner stops", async () => {
    const search = searchBy({ threadUrl: HANGS });
    await search.start();
    const failed = search.run(problemOf(), clusterSnapshot(), OPTIONS).catch((error: unknown) => error);
    await search.close();
    expect(await failed).toMatchObject({ code: "plan_aborted" });
  });

  test("for which nobody waits comes after those that are waited for", async () => {
    const snapshot = clusterSnapshot();
    const problem = problemOf(snapshot);
    const search = searchBy();
    await search.start();
    const done: string[] = [];
    const runs = [
      search.run(problem, snapshot, OPTIONS).then(() => done.push("first")),
      search.runPatiently(problem, snapshot, OPTIONS).then(() => done.push("patient")),
      search.run(problem, snapshot, OPTIONS).then(() => done.push("urgent")),
    ];
    await Promise.all(runs);
    expect(done).toEqual(["first", "urgent", "patient"]);
  });

  test("for which nobody waits ends early when somebody waits, whose own ends early when it is told to", async () => {
    const untilCut = thatThen(
      "while (Atomics.load(task.cut, 0) === 0); parentPort.postMessage({ id, failure: 'cut' });",
    );
    const search = searchBy({ threadUrl: untilCut });
    await search.start();
    const asked = [problemOf(), clusterSnapshot(), { ...OPTIONS, budgetMs: 60_000 }] as const;
    const done: string[] = [];
    const ending = (name: string, run: Promise<unknown>): Promise<unknown> =>
      run.catch((error: unknown) => {
        done.push(name);
        return String(error);
      });
    const patient = ending("patient", search.runPatiently(...asked));
    await new Promise((resolve) => setImmediate(resolve));
    const urgent = ending("urgent", search.run(...asked));
    expect(await patient).toContain("cut");
    expect(done).toEqual(["patient"]);
    search.hurry();
    expect(await urgent).toContain("cut");
  });

  test("that is made early ends when its workflow's turn comes, whose search starts from it", async () => {
    const snapshot = clusterSnapshot();
    const problem = problemOf(snapshot, ["p-1", "p-2", "p-3", "q-2", "r-2"]);
    const asked = [problem, snapshot, { ...OPTIONS, budgetMs: 60_000 }] as const;
    const tells = threadOf(`import { parentPort } from "node:worker_threads";
      parentPort.on("message", ({ id, task }) => {
        if (task === null) return parentPort.postMessage({ id });
        while (task.turn === "early" && Atomics.load(task.cut, 0) === 0);
        parentPort.postMessage({ id, failure: task.turn });
      })`);
    const search = searchBy({ threadUrl: tells });
    await search.start();
    const ends: string[] = [];
    const ending = (run: Promise<unknown>): Promise<unknown> =>
      run.catch((error: unknown) => ends.push(String(error).replace(/.*: /, "")));
    const early = ending(search.runEarly(...asked));
    await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([early, ending(search.run(...asked, "due"))]);
    expect(ends).toEqual(["early", "due"]);
    const real = searchBy();
    await real.start();
    await real.runEarly(problem, snapshot, OPTIONS);
    const found = await real.run(problem, snapshot, OPTIONS);
    const quick = await real.run(problem, snapshot, { ...OPTIONS, effort: 1 }, "due");
    expect(quick.cost.total).toBeLessThanOrEqual(found.cost.total);
  });

  test("is not made early where its turn's search is as good, or without a thread", async () => {
    const search = searchBy({ threadUrl: threadOf("process.exit(3)") });
    const problem = problemOf();
    expect(await search.runEarly(problem, clusterSnapshot(), OPTIONS)).toBeUndefined();
    const tiny = searchBy({ inlinePairs: 1_000, threadUrl: HANGS });
    await tiny.start();
    expect(await tiny.runEarly(problem, clusterSnapshot(), OPTIONS)).toBeUndefined();
  });

  test("for which nobody waits is not made here, unless it is small and there is no thread", async () => {
    const search = searchBy({ threadUrl: threadOf("process.exit(3)") });
    await expect(search.runPatiently(problemOf(), clusterSnapshot(), OPTIONS)).rejects.toMatchObject({
      code: "plan_no_thread",
    });
    const small = searchBy({ inlinePairs: 1_000 });
    expect((await small.runPatiently(problemOf(), null, OPTIONS)).complete).toBe(true);
  });

  test("that waits for its turn is given up with the one that has it", async () => {
    const search = searchBy({ threadUrl: HANGS });
    await search.start();
    const asked = [problemOf(), clusterSnapshot(), OPTIONS] as const;
    const codes = [search.run(...asked), search.run(...asked), search.runPatiently(...asked)].map((run) =>
      run.catch((error: unknown) => (error as { readonly code: string }).code),
    );
    await new Promise((resolve) => setImmediate(resolve));
    await search.close();
    expect(await Promise.all(codes)).toEqual(["plan_aborted", "plan_aborted", "plan_aborted"]);
  });
});

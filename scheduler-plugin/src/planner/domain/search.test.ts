import { planProblem, SchedulingModel } from "@isochrone/placement";
import { randomProblem } from "@isochrone/placement/planner-testing";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { expect, test } from "vitest";
import { clusterSnapshot, workflowSnapshot } from "../../testing/graphs.ts";
import { searchPlan } from "./search.ts";

test("a planned node is held against those of its zone, wherever they are in the list", () => {
  const zoneOf = (number: number): string => (number < 30 ? "near" : "far");
  const nodes = Array.from({ length: 60 }, (_, index) => ({
    metadata: { name: `n${59 - index}`, labels: { "topology.kubernetes.io/zone": zoneOf(59 - index) } },
    status: {
      allocatable: { cpu: "4", memory: "8Gi", pods: "10" },
      conditions: [{ type: "Ready", status: "True" }],
    },
  }));
  const problem = planProblem({
    model: SchedulingModel.of({ nodes, pods: [] }),
    pods: [
      {
        metadata: { name: "p-1", namespace: "shop" },
        spec: { containers: [{ resources: { requests: { cpu: "100m" } } }] },
      },
    ],
    cluster: new ClusterGraph(clusterSnapshot()),
    workflow: new WorkflowGraph(workflowSnapshot()),
    workloadOf: () => "p",
  });
  const { assignment, alternatives } = searchPlan(problem, {
    seed: 1,
    budgetMs: 1_000,
    bytesPerRequest: 1_000,
    maxCpuUse: 0,
    maxAlternatives: 8,
    now: () => 0,
  });
  const zone = (node: number): string | null => problem.nodes[node]!.zone;
  expect(zone(assignment[0]!)).toBe("near");
  expect(alternatives[0]!.map(({ node }) => zone(node))).toEqual(Array(8).fill("near"));
});

test("a search that is cut ends with the best plan so far, whatever decides; one that isn't converges", () => {
  const problem = randomProblem(4, { pods: 16, nodes: 20, constraints: 0 });
  const limits = { seed: 1, budgetMs: 1_000, bytesPerRequest: 1_000, maxAlternatives: 0, now: () => 0 };
  let looks = 0;
  const ends = [(): boolean => true, (): boolean => ++looks > 500, (): boolean => false].map((isCut) => {
    const { complete, ended, cost } = searchPlan(problem, { ...limits, isCut });
    expect(complete).toBe(true);
    return { ended, total: cost.total };
  });
  expect(ends.map(({ ended }) => ended)).toEqual(["deadline", "deadline", "converged"]);
  expect(ends.map(({ total }) => total)).toEqual(ends.map(({ total }) => total).toSorted((a, b) => b - a));
});

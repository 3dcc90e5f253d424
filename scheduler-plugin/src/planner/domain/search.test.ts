import { planProblem, SchedulingModel } from "@isochrone/placement";
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
  // p's peers are on n2 and n3.
  expect(zone(assignment[0]!)).toBe("near");
  expect(alternatives[0]!.map(({ node }) => zone(node))).toEqual(Array(8).fill("near"));
});

import { expect, it } from "vitest";
import { feasibleNodesToFind, reasonsOf, unschedulableMessage } from "./search.ts";

it.each([
  [8, 8],
  [99, 99],
  [100, 100],
  [1000, 420],
  [5000, 500],
])("looks for feasible nodes among %i as kube-scheduler does: %i", (nodes, wanted) => {
  expect(feasibleNodesToFind(nodes)).toBe(wanted);
});

it("counts each resource that lacks", () => {
  const full = reasonsOf({ plugin: "NodeResourcesFit", message: "Too many pods, Insufficient cpu" });
  const cordoned = reasonsOf({ plugin: "NodeUnschedulable", message: "node(s) were unschedulable" });
  expect(unschedulableMessage(3, [...full, ...cordoned, ...cordoned])).toBe(
    "0/3 nodes are available: 1 Insufficient cpu, 1 Too many pods, 2 node(s) were unschedulable.",
  );
});

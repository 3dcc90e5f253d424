import { expect, test } from "vitest";
import { channel, workflowSnapshot, workload } from "./testing/builders.ts";
import { WorkflowGraph } from "./workflow-graph.ts";

const graph = new WorkflowGraph(
  workflowSnapshot(
    [
      workload("web", { "web-1": "n1", "web-2": null }),
      workload("api", { "api-1": "n1" }),
      workload("web", { w: "n9" }, { namespace: "other" }),
    ],
    [channel("web", "api", 100), channel("api", "web", 5), channel("internet", "web", 7)],
  ),
);

test("channels are found from both ends", () => {
  expect(graph.channelsFrom("web").map((found) => found.target)).toEqual(["api"]);
  expect(graph.channelsTo("web").map((found) => found.source)).toEqual(["api", "internet"]);
  expect(graph.channelsFrom("nobody")).toEqual([]);
});

test("pods are found by the node that they run on; unplaced ones on none", () => {
  expect(graph.podsOn("n1")).toEqual([
    { workload: "web", name: "web-1" },
    { workload: "api", name: "api-1" },
  ]);
  expect(graph.podsOn("n2")).toEqual([]);
});

test("a workload of the workflow's own namespace wins over one of the same name elsewhere", () => {
  expect(graph.workload("web")?.namespace).toBe("shop");
  expect(graph.workload("internet")).toBeUndefined();
});

test("a graph that is seen again differs in version and time alone", () => {
  const later = graph.seenAgain(9, "2026-01-01T00:01:00.000Z");
  expect([later.version, later.observedAt]).toEqual([9, "2026-01-01T00:01:00.000Z"]);
  expect([later.namespace, later.name]).toEqual([graph.namespace, graph.name]);
  expect(later.workloads).toBe(graph.workloads);
  expect(later.channelsFrom("web")).toBe(graph.channelsFrom("web"));
  expect([...later.peersOf("api")]).toEqual(["web"]);
  expect(later.podsOn("n1")).toEqual(graph.podsOn("n1"));
  expect(graph.version).not.toBe(9);
});

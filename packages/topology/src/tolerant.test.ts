import { describe, expect, test } from "vitest";
import { channel, clusterSnapshot, link, node, workflowSnapshot, workload } from "./testing/builders.ts";
import { droppedElements, NOTHING_DROPPED, readClusterGraph, readWorkflowGraph } from "./tolerant.ts";
import { parseClusterGraph, parseWorkflowGraph } from "./validation.ts";

const good = () => clusterSnapshot([node("a"), node("b")], [link("a", "b", 1), link("b", "a", 2)]);

describe("a cluster graph", () => {
  test("without a fault comes back as it is", () => {
    const graph = good();
    expect(readClusterGraph(graph)).toEqual({ value: graph, dropped: NOTHING_DROPPED });
    expect(readClusterGraph(graph).value).toBe(graph);
  });

  test.each([
    ["a negative loss ratio", { lossRatio: -0.2 }],
    ["a loss ratio above 1", { lossRatio: 1.01 }],
    ["a negative cost", { costMs: -1 }],
    ["an infinite jitter", { jitterMs: Number.POSITIVE_INFINITY }],
    ["an error that is no number", { errorMs: Number.NaN }],
    ["an absurd bandwidth", { bandwidthBitsPerSecond: { capacity: 1e300, achieved: null, available: null } }],
    ["a negative quantile", { rttMs: { p50: -1, p90: null, p99: null, mean: null, count: 1 } }],
    ["a method that nobody knows", { method: "pigeon" }],
    ["a name that is none", { target: 5 }],
  ])("is taken without a link that has %s", (_, fields) => {
    const graph = { ...good(), links: [...good().links, { ...link("a", "b", 1), ...fields }] };
    const { value, dropped } = readClusterGraph(graph);
    expect(value).toEqual(good());
    expect(dropped.counts).toEqual({ link: 1 });
    expect(dropped.first).toMatch(/^cluster graph links\[2\]/);
    expect(() => parseClusterGraph(graph)).toThrow(dropped.first!);
  });

  test("is taken without bad nodes, repeated ones, a bad fit and bad declared costs, and follows the schema then", () => {
    const graph = {
      ...good(),
      nodes: [...good().nodes, node("c", { availableMemoryBytes: -1 }), node("a"), null],
      coordinates: {
        fittedAt: "2026-01-01T00:00:00.000Z",
        ageSeconds: 1,
        pairs: 2,
        medianRelativeError: null,
        p90RelativeError: Number.POSITIVE_INFINITY,
      },
      declaredCosts: { source: "x", unitMs: 0, zones: [], regions: [] },
    };
    const { value, dropped } = readClusterGraph(graph);
    expect(value).toEqual({ ...good(), coordinates: null, declaredCosts: null });
    expect(dropped.counts).toEqual({ node: 3, coordinates: 1, declared_costs: 1 });
    expect(droppedElements(dropped)).toBe(5);
    expect(parseClusterGraph(value)).toBe(value);
  });

  test.each([
    ["no object", null],
    ["no links", { ...good(), links: undefined }],
    ["links that are no list", { ...good(), links: { length: 3 } }],
    ["a version that is no number", { ...good(), version: "7" }],
  ])("is refused for %s", (_, json) => {
    expect(() => readClusterGraph(json)).toThrow(/^cluster graph/);
  });
});

describe("a workflow graph", () => {
  test("is taken without bad workloads, pods and channels", () => {
    const graph = workflowSnapshot(
      [workload("web", { "web-0": "a" }), workload("db", {}, { memoryBytes: -1 })],
      [channel("web", "db", 5), channel("web", "db", -5), channel("web", "x", 1, { errorRatio: 2 })],
    );
    const pods = [{ name: "web-0", node: "a" }, { name: "web-0", node: "b" }, { name: 7 }];
    const hostile = { ...graph, workloads: [{ ...graph.workloads[0], pods }, graph.workloads[1]] };
    const { value, dropped } = readWorkflowGraph(hostile);
    expect(value.workloads).toEqual([workload("web", { "web-0": "a" })]);
    expect(value.channels).toEqual([channel("web", "db", 5)]);
    expect(dropped.counts).toEqual({ pod: 2, workload: 1, channel: 2 });
    expect(parseWorkflowGraph(value)).toBe(value);
  });
});

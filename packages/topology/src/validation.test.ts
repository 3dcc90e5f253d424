import { describe, expect, test } from "vitest";
import { ClusterGraph } from "./cluster-graph.ts";
import { SnapshotError } from "./errors.ts";
import { channel, clusterSnapshot, link, node, workflowSnapshot, workload } from "./testing/builders.ts";
import { parseClusterGraph, parseWorkflowGraph } from "./validation.ts";

const good = (): ReturnType<typeof clusterSnapshot> =>
  clusterSnapshot([node("a"), node("b")], [link("a", "b", 1)]);

const FIT = {
  fittedAt: "2026-01-01T00:00:00.000Z",
  ageSeconds: 1,
  pairs: 2,
  medianRelativeError: null,
  p90RelativeError: null,
};

describe("a cluster graph from JSON", () => {
  test("passes unchanged when it follows the schema", () => {
    expect(parseClusterGraph(JSON.parse(JSON.stringify(good())))).toEqual(good());
  });

  test("may tell what coordinates came of, what nodes' interfaces carry, and where bandwidth comes from", () => {
    const more = {
      ...good(),
      costMethods: ["tcp_connect"],
      coordinates: FIT,
      nodes: [node("a", { networkCapacityBitsPerSecond: 1e9, networkReceiveBitsPerSecond: null })],
      links: [link("a", "b", 1, { bandwidthCapacityOrigin: "declared", bandwidthTransport: "udp" })],
    };
    expect(parseClusterGraph(structuredClone(more))).toEqual(more);
  });

  test.each([
    ["a number as node name", { nodes: [node(5 as never)] }, /nodes\[0\]\.name .*string.* got 5/],
    ["a missing list", { links: undefined }, /cluster graph.*links/],
    [
      "a negative cost",
      { links: [link("a", "b", -1)] },
      /links\[0\]\.costMs must be a finite number of at least 0.* got -1/,
    ],
    [
      "a cost that is text",
      { links: [link("a", "b", "3" as never)] },
      /links\[0\]\.(costMs|rttMs).* got "3"/,
    ],
    ["a NaN", { links: [link("a", "b", 1, { errorMs: Number.NaN })] }, /links\[0\]\.errorMs.* got NaN/],
    [
      "an infinite age",
      { links: [link("a", "b", 1, { ageSeconds: Infinity })] },
      /links\[0\]\.ageSeconds.* got Infinity/,
    ],
    [
      "a loss above 1",
      { links: [link("a", "b", 1, { lossRatio: 1.5 })] },
      /links\[0\]\.lossRatio must be from 0 to 1.* got 1\.5/,
    ],
    [
      "a negative bandwidth",
      {
        links: [
          link("a", "b", 1, { bandwidthBitsPerSecond: { capacity: 1, achieved: -2, available: null } }),
        ],
      },
      /links\[0\]\.bandwidthBitsPerSecond\.achieved must be a finite number.* got -2/,
    ],
    [
      "coordinates of the future",
      { coordinates: { ...FIT, ageSeconds: -1 } },
      /coordinates\.ageSeconds must be a finite number.* got -1/,
    ],
    ["two nodes of one name", { nodes: [node("a"), node("a")] }, /nodes\[1\]\.name must be unique, got "a"/],
  ])("is refused for %s, with path, rule and value", (_, fields, message) => {
    expect(() => parseClusterGraph({ ...good(), ...fields })).toThrow(message);
  });

  test.each([[null], [[]], ["text"], [7]])("is refused when it is %j", (json) => {
    expect(() => ClusterGraph.fromJson(json)).toThrow(SnapshotError);
  });

  test("may hold links of nodes that have just gone: they are left out and counted", () => {
    const graph = ClusterGraph.fromJson(clusterSnapshot([node("a")], [link("a", "gone", 1)]));
    expect(graph.ignoredLinks).toBe(1);
  });
});

describe("a workflow graph from JSON", () => {
  const flow = (fields: object): unknown => ({
    ...workflowSnapshot([workload("a", { "a-1": "n1" })], [channel("a", "b", 10)]),
    ...fields,
  });

  test("passes unchanged when it follows the schema", () => {
    expect(parseWorkflowGraph(flow({}))).toEqual(flow({}));
    const nearest = channel("a", "b", 5, { routing: "nearest", routingScopes: ["zone"] });
    expect(parseWorkflowGraph(flow({ channels: [nearest] })).channels).toEqual([nearest]);
  });

  test.each([
    [
      "negative traffic",
      { channels: [channel("a", "b", -5)] },
      /channels\[0\]\.bytesPerSecond must be.* got -5/,
    ],
    [
      "a negative limit",
      { channels: [channel("a", "b", 5, { maxNetworkCost: -1 })] },
      /channels\[0\]\.maxNetworkCost/,
    ],
    [
      "a negative need",
      { channels: [channel("a", "b", 5, { minBandwidthBitsPerSecond: -1 })] },
      /channels\[0\]\.minBandwidthBitsPerSecond/,
    ],
    [
      "a negative priority",
      { channels: [channel("a", "b", 5, { priority: -1 })] },
      /channels\[0\]\.priority/,
    ],
    [
      "an unknown routing",
      { channels: [{ ...channel("a", "b", 5), routing: "random" }] },
      /channels\[0\]\.routing/,
    ],
    [
      "an unknown scope",
      { channels: [{ ...channel("a", "b", 5), routing: "nearest", routingScopes: ["rack"] }] },
      /channels\[0\]\.routingScopes\[0\]/,
    ],
    [
      "negative use",
      { workloads: [workload("a", {}, { cpuMillicores: -1 })] },
      /workloads\[0\]\.cpuMillicores/,
    ],
  ])("is refused for %s", (_, fields, message) => {
    expect(() => parseWorkflowGraph(flow(fields))).toThrow(message);
  });
});

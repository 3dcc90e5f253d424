import type { Channel, Link } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { headroomViolations, nodesBeyondLimits, rejectedNodes } from "./limits.ts";
import { bandwidthViolations, networkLimitViolations } from "./network-limits.ts";
import type { PlacementProblem } from "./problem.ts";
import { createStrategy } from "../profile.ts";
import { channel, link, node, problem, workload } from "../testing/problems.ts";

const use = { cpu: 500, memory: 2 ** 28 };
const nodes = ["a", "b", "c", "d"].map((name) =>
  node(name, 1_000, 2 ** 30, { zone: name < "c" ? "ab" : "cd" }),
);

const wire = (source: string, target: string, bits: Partial<Link["bandwidthBitsPerSecond"]>): Link =>
  link(source, target, 1, {
    bandwidthBitsPerSecond: { capacity: null, achieved: null, available: null, ...bits },
  });

function needing(
  minBandwidthBitsPerSecond: number | null,
  q: Record<string, string>,
  between: Link[],
  fields: Partial<Channel> = {},
): PlacementProblem {
  const workloads = [workload("p", use, {}), workload("q", use, q)];
  const needs = channel("p", "q", null, { minBandwidthBitsPerSecond, origin: "declared", ...fields });
  return problem(nodes, between, workloads, [needs]);
}

describe("a declared minBandwidth", () => {
  test("rejects nodes from which less is available, and says which channel and how much", () => {
    const found = bandwidthViolations(
      needing(100e6, { "q-1": "c" }, [
        wire("a", "c", { available: 50e6 }),
        wire("b", "c", { available: 100e6 }),
      ]),
    );
    expect([...found.keys()]).toEqual(["a"]);
    expect(found.get("a")).toBe(
      "minBandwidth of channel p -> q is 100000000 bit/s, the bandwidth free from a is 50000000 bit/s per pair of pods (1 of 1 replicas lack it)",
    );
  });

  test("is held against the way to the node for channels that lead to the pod", () => {
    const workloads = [workload("p", use, {}), workload("q", use, { "q-1": "c" })];
    const between = [wire("c", "a", { available: 1 }), wire("a", "c", { available: 1e9 })];
    const channels = [channel("q", "p", null, { minBandwidthBitsPerSecond: 5 })];
    expect(bandwidthViolations(problem(nodes, between, workloads, channels)).get("a")).toContain(
      "the bandwidth free to a is 1 bit/s",
    );
  });

  test("rejects nothing where no bandwidth is known, nor the node of the peer itself", () => {
    expect(bandwidthViolations(needing(1e12, { "q-1": "c" }, [wire("a", "c", {})])).size).toBe(0);
    const alone = bandwidthViolations(needing(10, { "q-1": "c" }, [wire("a", "c", { available: 0 })]));
    expect([...alone.keys()]).toEqual(["a"]);
  });

  test("counts what placed dependencies claim of a capacity: each pair of replicas", () => {
    const workloads = [
      workload("p", use, { "p-2": "a", "p-3": "b" }),
      workload("q", use, { "q-1": "c", "q-2": "c" }),
    ];
    const needs = channel("p", "q", null, { minBandwidthBitsPerSecond: 10 });
    // p-2 on a reserves 2 x 10 to c; the new pod needs 2 x 10.
    const free = (capacity: number, available: number | null = null): boolean => {
      const each = problem(nodes, [wire("a", "c", { capacity, available })], workloads, [needs]);
      return !bandwidthViolations(each).has("a");
    };
    expect([free(39), free(40), free(40, 19), free(40, 20)]).toEqual([false, true, false, true]);
  });

  test("doesn't count what the pod itself claims where the graph still shows it", () => {
    const workloads = [workload("p", use, { "p-1": "a" }), workload("q", use, { "q-1": "c" })];
    const needs = channel("p", "q", null, { minBandwidthBitsPerSecond: 10 });
    expect(
      bandwidthViolations(problem(nodes, [wire("a", "c", { capacity: 10 })], workloads, [needs])).size,
    ).toBe(0);
  });

  test("goes by the majority of the replicas that it would talk to", () => {
    const between = [
      wire("a", "c", { available: 1 }),
      wire("a", "d", { available: 100 }),
      wire("a", "b", { available: 1 }),
    ];
    const q = { "q-1": "c", "q-2": "d" };
    expect(bandwidthViolations(needing(10, q, between)).size).toBe(0);
    expect(bandwidthViolations(needing(10, { ...q, "q-3": "b" }, between)).has("a")).toBe(true);
  });
});

describe("limits of a channel whose callers talk to the nearest replica", () => {
  const nearest = { routing: "nearest" as const };

  test("are held against the nearest only", () => {
    const between = [link("a", "b", 1), link("a", "c", 50), link("a", "d", 50)];
    const q = { "q-1": "b", "q-2": "c", "q-3": "d" };
    const far = { maxNetworkCost: 10 };
    expect(networkLimitViolations(needing(null, q, between, far)).has("a")).toBe(true);
    expect(networkLimitViolations(needing(null, q, between, { ...far, ...nearest })).has("a")).toBe(false);
  });

  test("are nothing to callers that have a nearer replica", () => {
    const called = channel("q", "p", null, { maxNetworkCost: 10, ...nearest });
    const between = [link("c", "a", 50), link("c", "d", 1)];
    const without = [workload("p", use, {}), workload("q", use, { "q-1": "c" })];
    const withSibling = [workload("p", use, { "p-2": "d" }), without[1]!];
    expect(networkLimitViolations(problem(nodes, between, without, [called])).has("a")).toBe(true);
    expect(networkLimitViolations(problem(nodes, between, withSibling, [called])).has("a")).toBe(false);
  });
});

describe("headroom by measured use", () => {
  const between: Link[] = [];
  const of = (fields: Partial<PlacementProblem> = {}, q = use): PlacementProblem =>
    problem(
      [node("a", 499, 2 ** 30), node("b", 500, 2 ** 28), node("c", null, 2 ** 27), node("d", null, null)],
      between,
      [workload("p", q, {})],
      [],
      fields,
    );

  test("rejects nodes that have less left than the pod uses; unknown rejects nothing", () => {
    expect(headroomViolations(of())).toEqual(
      new Map([
        ["a", "by measured use a has 499m CPU left, the pod uses 500m"],
        ["c", "by measured use c has 128 Mi memory left, the pod uses 256 Mi"],
      ]),
    );
  });

  test("deducts what was sent to a node a moment ago", () => {
    const assumedUse = new Map([["b", { cpuMillicores: 1, memoryBytes: 0 }]]);
    expect(headroomViolations(of({ assumedUse })).get("b")).toBe(
      "by measured use b has 499m CPU left, the pod uses 500m",
    );
  });

  test("goes by requests while the use isn't known, and by nothing without any", () => {
    const unknown = { cpu: null as unknown as number, memory: null as unknown as number };
    const pod = {
      namespace: "shop",
      name: "p-1",
      workload: "p",
      requests: { cpuMillicores: 600, memoryBytes: null },
    };
    expect([...headroomViolations(of({ pod }, unknown)).values()]).toEqual([
      "by measured use a has 499m CPU left, the pod requests 600m",
      "by measured use b has 500m CPU left, the pod requests 600m",
    ]);
    expect(headroomViolations(of({}, unknown)).size).toBe(0);
  });

  test("is asked for: without, only what channels declare rejects", () => {
    const strategy = createStrategy({ strategy: "resource-network" });
    expect(rejectedNodes(strategy, of()).size).toBe(0);
    expect([...rejectedNodes(strategy, of(), { usageHeadroom: true }).keys()]).toEqual(["a", "c"]);
    const upstream = createStrategy({ strategy: "network-overhead", mode: "upstream" });
    expect([...rejectedNodes(upstream, of(), { usageHeadroom: true }).keys()]).toEqual(["a", "c"]);
  });
});

test("of two broken limits the network cost is told", () => {
  const between = [{ ...wire("a", "c", { available: 1 }), costMs: 50 }];
  const found = nodesBeyondLimits(needing(10, { "q-1": "c" }, between, { maxNetworkCost: 10 }));
  expect(found.get("a")).toContain("maxNetworkCost");
});

// a1 and a2 are in zone A, b1 in zone B, c1 in zone C: 1 ms within A, 10 ms between A and B, 30 ms to c1.
import { routingScopes, type Channel, type RoutingScope } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import type { PlacementProblem } from "./problem.ts";
import { ResourceNetwork } from "../resource-network/resource-network.ts";
import { channel, links, node, problem, workload } from "../testing/problems.ts";

const use = { cpu: 1, memory: 1 };
const nodes = [
  node("a1", 1, 1, { zone: "A", region: "R" }),
  node("a2", 1, 1, { zone: "A", region: "R" }),
  node("b1", 1, 1, { zone: "B", region: "R" }),
  node("c1", 1, 1, { zone: "C", region: "S" }),
];
const between = links(
  ["a1", "a2", 1],
  ["a1", "b1", 10],
  ["a2", "b1", 10],
  ["a1", "c1", 30],
  ["a2", "c1", 30],
  ["b1", "c1", 30],
);
const raw = new ResourceNetwork("raw");

const nearest = (scopes?: RoutingScope[]): Partial<Channel> => ({
  routing: "nearest",
  ...(scopes === undefined ? {} : { routingScopes: scopes }),
});

function network(
  pods: { p?: Record<string, string | null>; q: Record<string, string | null> },
  one: Channel,
  fields: Partial<PlacementProblem> = {},
): number[] {
  const workloads = [workload("p", use, pods.p ?? {}), workload("q", use, pods.q)];
  return [...raw.score(problem(nodes, between, workloads, [one], fields)).parts["network"]!];
}

describe("a caller whose traffic goes to the nearest replica", () => {
  test("pays for that one: on its node, in its zone, in its region, else for all", () => {
    const q = { "q-1": "a1", "q-2": "b1" };
    // c1 shares no region with either: (30 + 30) / 2 x 900.
    expect(network({ q }, channel("p", "q", 900, nearest()))).toEqual([0, -900, 0, -27_000]);
    expect(network({ q }, channel("p", "q", 900))).toEqual([-4_500, -4_950, -4_500, -27_000]);
  });

  test("with PreferSameZone doesn't prefer its own node", () => {
    const q = { "q-1": "a1", "q-2": "a2", "q-3": "b1" };
    expect(network({ q }, channel("p", "q", 900, nearest(["zone"])))).toEqual([-450, -450, 0, -27_000]);
  });

  test("prefers a region where no replica is nearer", () => {
    const q = { "q-1": "b1", "q-2": "c1" };
    expect(network({ q }, channel("p", "q", 900, nearest()))).toEqual([-9_000, -9_000, 0, 0]);
  });

  test("has its even share of the traffic of its own replicas, and knows no replica that isn't placed", () => {
    const pods = { p: { "p-2": "c1" }, q: { "q-1": "a1", "q-2": null } };
    expect(network(pods, channel("p", "q", 900, nearest()))).toEqual([0, -450, -4_500, -13_500]);
  });
});

describe("callers that look for the nearest replica", () => {
  // Two callers of 150 B/s each, on a1 and b1. A sibling of the pod on b1 keeps the caller there.
  const pods = { p: { "p-2": "b1" }, q: { "q-1": "a1", "q-2": "b1" } };

  test("gain what the new replica saves them: one who has a nearer one stays away, one as near shares", () => {
    // a1: 0; a2: 150 x 1; b1: as far as the sibling, 150 x 10; c1 is in another region, so the caller on a1
    // stays with b1.
    expect(network(pods, channel("q", "p", 300, nearest()))).toEqual([0, -150, -1_500, -1_500]);
    const zones = channel("q", "p", 300, nearest(["node", "zone"]));
    expect(network(pods, zones)).toEqual([0, -150, -1_500, -3_000]);
  });

  test("aren't helped by a second replica where one is already", () => {
    const both = { p: { "p-2": "b1", "p-3": "a1" }, q: { "q-1": "a1", "q-2": "b1" } };
    expect(network(both, channel("q", "p", 300, nearest()))).toEqual([0, 0, 0, 0]);
  });

  test("count siblings that were decided a moment ago, and never the pod itself", () => {
    const assumed = [{ workload: "p", name: "p-3", node: "a1" }];
    const strategy = new ResourceNetwork("raw");
    const workloads = [workload("p", use, { "p-1": "a1", "p-2": "b1" }), workload("q", use, pods.q)];
    const base = problem(nodes, between, workloads, [channel("q", "p", 300, nearest())]);
    const part = (each: PlacementProblem): number[] => [...strategy.score(each).parts["network"]!];
    expect(part(base)).toEqual([0, -150, -1_500, -1_500]);
    expect(part({ ...base, assumed })).toEqual([0, 0, 0, 0]);
    expect(part({ ...base, pod: { ...base.pod, name: "p-2" } })).toEqual([-1_500, -1_500, 0, -1_500]);
  });

  test("are as far as the median known cost where nobody knows one", () => {
    const lonely = { q: { "q-1": "a1" } };
    const workloads = [workload("p", use, {}), workload("q", use, lonely.q)];
    const table = raw.score(
      problem(nodes, links(["a1", "a2", 4]), workloads, [channel("q", "p", 100, nearest())]),
    );
    expect([...table.parts["network"]!]).toEqual([0, -400, -400, -400]);
    expect(table.explanation.sentences.join(" ")).toContain("1 network costs were unknown");
  });
});

test("a candidate that the graph doesn't hold is free for callers of its own pods only", () => {
  const fields = { candidates: ["a1", "stranger"] };
  const one = channel("p", "q", 100, nearest());
  expect(network({ q: { "q-1": "stranger" } }, one, fields)).toEqual([-2_000, 0]);
});

test.each([
  [{}, null],
  [{ routing: "spread" as const }, null],
  [nearest(), ["node", "zone", "region"]],
  [nearest(["region", "zone"]), ["zone", "region"]],
])("%j is routed by the scopes %j", (fields, scopes) => {
  expect(routingScopes(channel("p", "q", 1, fields))).toEqual(scopes);
});

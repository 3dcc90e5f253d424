import { ManualClock } from "@isochrone/runtime/testing";
import { beforeEach, expect, test } from "vitest";
import type { ClusterState, PodState } from "../domain/cluster-state.ts";
import { clusterState, nodeState } from "../testing/cluster.ts";
import { WatchedFacts } from "./watched-facts.ts";

let clock: ManualClock;
let state: ClusterState;
let pending: string[];
let facts: WatchedFacts;

beforeEach(() => {
  clock = new ManualClock();
  pending = [];
  state = clusterState({ nodes: [nodeState("n1")], pods: [pod("web-1", "n1", "web")] });
  facts = new WatchedFacts({ current: () => state, nodes: () => state, pending: () => pending }, clock);
});

function pod(name: string, node: string | null, workload: string | null, isMeshProxy = false): PodState {
  return {
    namespace: "shop",
    name,
    node,
    workload: workload === null ? null : { kind: "Deployment", name: workload },
    workflow: { namespace: "shop", name: "shop" },
    ...(isMeshProxy ? { isMeshProxy: true } : {}),
  };
}

test("tells nodes of the cluster from names that it doesn't have", () => {
  expect([facts.isNode("n1"), facts.isNode("n2")]).toEqual(["yes", "no"]);
  state = { ...state, nodes: [nodeState("n2")] };
  expect([facts.isNode("n1"), facts.isNode("n2")]).toEqual(["no", "yes"]);
});

test("knows nothing before all is listed, and of a cluster without nodes", () => {
  pending = ["Pod"];
  expect([facts.isNode("n2"), facts.runsOn("n1", "shop", "web"), facts.hasMeshProxy("n1")]).toEqual([
    "unknown",
    "unknown",
    "unknown",
  ]);
  pending = [];
  state = clusterState();
  expect(facts.isNode("n1")).toBe("unknown");
});

test("tells which workloads have a pod on a node, a bare pod by its own name", () => {
  state = { ...state, pods: [...state.pods, pod("bare", "n1", null), pod("waits", null, "late")] };
  expect(["web", "bare", "late", "web-1"].map((name) => facts.runsOn("n1", "shop", name))).toEqual([
    "yes",
    "yes",
    "no",
    "no",
  ]);
  expect([facts.runsOn("n2", "shop", "web"), facts.runsOn("n1", "bank", "web")]).toEqual(["no", "no"]);
});

test("looks at the pods anew for what it misses, once a second at most", async () => {
  expect(facts.runsOn("n1", "shop", "new")).toBe("no");
  state = { ...state, pods: [...state.pods, pod("new-1", "n1", "new"), pod("wp", "n1", "waypoint", true)] };
  expect(facts.runsOn("n1", "shop", "new")).toBe("no");
  await clock.advance(1_000);
  expect([facts.runsOn("n1", "shop", "new"), facts.hasMeshProxy("n1")]).toEqual(["yes", "yes"]);
});

test("knows pods by name and by address, and whom an address belongs to now", async () => {
  const web = { ...pod("web-1", "n1", "web"), addresses: ["10.0.0.1", "fd00::1"] };
  state = { ...state, pods: [web, pod("bare", null, null)] };
  const fact = { namespace: "shop", workload: "web", node: "n1" };
  expect([facts.podNamed("shop", "web-1"), facts.podAt("10.0.0.1"), facts.podAt("fd00::1")]).toEqual([
    fact,
    fact,
    fact,
  ]);
  expect(facts.podNamed("shop", "bare")).toEqual({ namespace: "shop", workload: "bare", node: null });
  expect([facts.podAt("10.96.0.1"), facts.podNamed("bank", "web-1")]).toEqual(["no", "no"]);
  state = { ...state, pods: [{ ...pod("db-1", "n1", "db"), addresses: ["10.0.0.1"] }] };
  await clock.advance(1_000);
  expect(facts.podAt("10.0.0.1")).toMatchObject({ workload: "db" });
});

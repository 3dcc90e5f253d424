import { expect, test } from "vitest";
import { peerCosts, replicasOn } from "./peer-costs.ts";
import { channel, handWorked, links, node, problem, workload } from "../testing/problems.ts";

const NAMES = ["n1", "n2", "n3"];

test("each peer with its round trip from each candidate, and the mean over the pod's requests", () => {
  const asked = handWorked({}, [
    channel("p", "q", 1, { requestsPerSecond: 30 }),
    channel("r", "p", 1, { requestsPerSecond: 10 }),
  ]);
  const costs = peerCosts(asked, NAMES)!;
  expect(costs.peers.map(({ ms, errorMs: _errorMs, ...peer }) => ({ ...peer, ms: [...ms] }))).toEqual([
    {
      workload: "q",
      calling: true,
      node: "n2",
      pods: 1,
      requestsPerSecond: 30,
      bytesPerSecond: 1,
      ms: [10, 0, 25],
    },
    {
      workload: "r",
      calling: false,
      node: "n3",
      pods: 1,
      requestsPerSecond: 10,
      bytesPerSecond: 1,
      ms: [40, 25, 0],
    },
  ]);
  expect([...costs.networkMs]).toEqual([(30 * 10 + 10 * 40) / 40, (10 * 25) / 40, (30 * 25) / 40]);
});

test("replicas share a channel's requests evenly; those on one node are one peer", () => {
  const asked = problem(
    [node("n1", 1, 1), node("n2", 1, 1), node("n3", 1, 1)],
    links(["n1", "n2", 10], ["n1", "n3", 40], ["n2", "n3", 25]),
    [
      workload("p", { cpu: 1, memory: 1 }, { "p-1": null, "p-2": "n1" }),
      workload("q", { cpu: 1, memory: 1 }, { "q-1": "n2", "q-2": "n2", "q-3": "n3" }),
    ],
    [channel("p", "q", null, { requestsPerSecond: 60 })],
  );
  const { peers, networkMs } = peerCosts(asked, NAMES)!;
  expect(peers.map(({ node: on, pods, requestsPerSecond }) => [on, pods, requestsPerSecond])).toEqual([
    ["n2", 2, 20],
    ["n3", 1, 10],
  ]);
  expect(networkMs[0]).toBeCloseTo((2 * 10 + 40) / 3);
});

test("a channel that is routed to the nearest replica counts that one alone", () => {
  const asked = problem(
    ["n1", "n2", "n3"].map((name) => node(name, 1, 1, { zone: name === "n3" ? "b" : "a" })),
    links(["n1", "n2", 10], ["n1", "n3", 40], ["n2", "n3", 25]),
    [
      workload("p", { cpu: 1, memory: 1 }, { "p-1": null }),
      workload("q", { cpu: 1, memory: 1 }, { "q-1": "n2", "q-2": "n3" }),
    ],
    [channel("p", "q", null, { requestsPerSecond: 60, routing: "nearest" })],
  );
  expect([...peerCosts(asked, NAMES)!.networkMs]).toEqual([10, 0, 0]);
});

test("unknown and unreachable aren't 0, and unknown pairs are left out of the mean", () => {
  const asked = problem(
    [node("n1", 1, 1), node("n2", 1, 1), node("n3", 1, 1)],
    [
      ...links(["n1", "n2", 10]),
      ...links(["n2", "n3", 5]).map((link) => ({ ...link, costMs: null, lossRatio: 1 })),
    ],
    [
      workload("p", { cpu: 1, memory: 1 }, { "p-1": null }),
      workload("q", { cpu: 1, memory: 1 }, { "q-1": "n2" }),
      workload("r", { cpu: 1, memory: 1 }, { "r-1": "n1" }),
    ],
    [channel("p", "q", null, { requestsPerSecond: 1 }), channel("p", "r", null, { requestsPerSecond: 1 })],
  );
  const { networkMs, peers } = peerCosts(asked, [...NAMES, "stranger"])!;
  expect([...peers[0]!.ms]).toEqual([10, 0, Infinity, Number.NaN]);
  expect([...networkMs]).toEqual([5, 5, Infinity, Number.NaN]);
});

test("few rows, the first ones, where there are many peers, and the heaviest of those", () => {
  const names = Array.from({ length: 100 }, (_, index) => `n${index}`);
  const nodes = names.map((name) => node(name, 1, 1));
  const pods = Object.fromEntries(names.map((name) => [`q-${name}`, name]));
  const asked = problem(
    nodes,
    names.slice(1).flatMap((name) => links(["n0", name, 10])),
    [
      workload("p", { cpu: 1, memory: 1 }, { "p-1": null }),
      workload("q", { cpu: 1, memory: 1 }, pods),
      workload("r", { cpu: 1, memory: 1 }, { "r-1": "n1" }),
    ],
    [
      channel("p", "q", null, { requestsPerSecond: 100 }),
      channel("p", "r", null, { requestsPerSecond: 1_000 }),
    ],
  );
  const few = peerCosts(asked, names, 32 * 20)!;
  expect(few.names).toEqual(names.slice(0, 20));
  expect(few.peers).toHaveLength(16);
  expect(few.peers[0]).toMatchObject({ workload: "r", requestsPerSecond: 1_000 });
  expect(peerCosts(asked, names, 1)!.names).toHaveLength(16);
  expect(peerCosts(asked, names)!.names).toHaveLength(100);
});

test("is nothing without graphs, and where no peer has a node", () => {
  expect(peerCosts(handWorked({ cluster: { graph: null, reason: "none" } }), NAMES)).toBeNull();
  expect(peerCosts(handWorked({}, []), NAMES)).toBeNull();
});

test("replicas on a node are those that the graph shows there, and those that are on their way", () => {
  const asked = problem(
    [node("n1", 1, 1), node("n2", 1, 1)],
    [],
    [workload("p", { cpu: 1, memory: 1 }, { "p-1": "n1", "p-2": "n1", "p-3": null })],
    [],
    {
      assumed: [
        { workload: "p", name: "p-2", node: "n2" },
        { workload: "p", name: "p-3", node: "n1" },
        { workload: "q", name: "q-1", node: "n1" },
      ],
    },
  );
  expect([replicasOn(asked, "n1"), replicasOn(asked, "n2")]).toEqual([2, 0]);
});

test("costs have the errors of the links that they are read from; of provisional links none is known", () => {
  const between = links(["n1", "n2", 10], ["n1", "n3", 40], ["n2", "n3", 25]).map((each) => ({
    ...each,
    errorMs: each.costMs! / (each.source < each.target ? 10 : 5),
    provisional: each.source === "n1" && each.target === "n3",
  }));
  const asked = problem(
    NAMES.map((name) => node(name, 1, 1)),
    between,
    [
      workload("p", { cpu: 1, memory: 1 }, { "p-1": null }),
      workload("q", { cpu: 1, memory: 1 }, { "q-1": "n2" }),
      workload("r", { cpu: 1, memory: 1 }, { "r-1": "n3" }),
    ],
    [channel("p", "q", 1, { requestsPerSecond: 30 }), channel("r", "p", 1, { requestsPerSecond: 10 })],
  );
  const { peers } = peerCosts(asked, NAMES)!;
  expect(peers.map(({ errorMs }) => [...errorMs])).toEqual([
    // p calls q on n2; r on n3 calls p.
    [1, 0, 5],
    [8, 5, 0],
  ]);
});

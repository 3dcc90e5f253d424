import { describe, expect, test } from "vitest";
import { PairTraffic } from "./pair-traffic.ts";
import { scoreDump } from "./score-dump.ts";

type Statement = readonly [workload: string, peer: string, bytesPerSecond: number, isCalled: boolean | null];

function channelsOf(statements: readonly Statement[], declared: readonly string[] = []): string[] {
  const traffic = new PairTraffic();
  for (const [workload, peer, bytesPerSecond, isCalled] of statements)
    traffic.state(workload, peer, { bytesPerSecond, isCalled });
  const channels = [...traffic.channels((source, target) => declared.includes(`${source} ${target}`))];
  return channels
    .map(({ source, target, bytesPerSecond }) => `${source} -> ${target}: ${bytesPerSecond}`)
    .sort();
}

describe("the traffic of a pair", () => {
  test.each<[string, readonly Statement[], readonly string[]]>([
    ["is the caller's", [["q", "p", 10, true]], ["q -> p: 10"]],
    ["is the peer's where the workload calls none of it", [["p", "q", 10, false]], ["q -> p: 10"]],
    [
      "is the larger amount",
      [
        ["p", "q", 10, true],
        ["q", "p", 12, false],
      ],
      ["p -> q: 12"],
    ],
    [
      "is shared by both that call",
      [
        ["p", "q", 10, true],
        ["q", "p", 10, true],
      ],
      ["p -> q: 5", "q -> p: 5"],
    ],
    ["is shared where nothing says who calls", [["p", "q", 10, null]], ["p -> q: 5", "q -> p: 5"]],
    ["is one channel of a workload with itself", [["p", "p", 10, null]], ["p -> p: 10"]],
  ])("%s, whoever states it first", (_, statements, channels) => {
    expect(channelsOf(statements)).toEqual(channels);
    expect(channelsOf(statements.toReversed())).toEqual(channels);
  });

  test("goes by a declaration where the annotations don't say who calls, and not where they do", () => {
    expect(channelsOf([["p", "q", 10, null]], ["q p"])).toEqual(["q -> p: 10"]);
    expect(channelsOf([["p", "q", 10, true]], ["q p"])).toEqual(["p -> q: 10"]);
    expect(channelsOf([["p", "q", 10, null]], ["q p", "p q"])).toEqual(["p -> q: 5", "q -> p: 5"]);
  });
});

test("an exchange is priced from who starts it, whichever Deployment comes first in the dump", () => {
  const own = (annotations: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(annotations).map(([name, value]) => [`isochrone.dev/${name}`, value]));
  const node = (name: string, costs: Record<string, string>): object => ({
    kind: "Node",
    metadata: { name, annotations: own({ "available-cpu": "2", ...costs }) },
  });
  const deployment = (name: string, annotations: Record<string, string>): object => ({
    kind: "Deployment",
    metadata: { name, namespace: "s", annotations: own({ "cpu-usage": "100m", ...annotations }) },
    spec: { selector: { matchLabels: { app: name } } },
  });
  const pod = (name: string, app: string, spec: object): object => ({
    kind: "Pod",
    metadata: { name, namespace: "s", labels: { app } },
    spec,
  });
  // p on n1, q on n2: 10 ms from p to q, 30 ms from q to p.
  const network = (p: Record<string, string>, q: Record<string, string>): unknown[] =>
    [
      [deployment("p", p), deployment("q", q)],
      [deployment("q", q), deployment("p", p)],
    ].map((deployments) => {
      const items = [
        node("n1", { "network-cost-n2": "10" }),
        node("n2", { "network-cost-n1": "30" }),
        ...deployments,
        pod("p-1", "p", {}),
        pod("q-1", "q", { nodeName: "n2" }),
      ];
      const dumpText = JSON.stringify({ kind: "List", items });
      const { nodes } = scoreDump({ dumpText, podName: "s/p-1", strategy: "resource-network" });
      return nodes.map(({ parts }) => parts["network"]);
    });
  const twice = (ms: number): unknown[] => [
    [-1_000 * ms, 0],
    [-1_000 * ms, 0],
  ];
  const traffic = { "traffic-q": "1k" };
  expect(network({ ...traffic, calls: '["q"]' }, { "traffic-p": "1k" })).toEqual(twice(10));
  expect(network({ ...traffic, calls: "[]" }, { "traffic-p": "1k", calls: '["p"]' })).toEqual(twice(30));
  expect(network(traffic, { "traffic-p": "1k" })).toEqual(twice(20));
  expect(network(traffic, { dependencies: '[{"name": "p"}]' })).toEqual(twice(30));
});

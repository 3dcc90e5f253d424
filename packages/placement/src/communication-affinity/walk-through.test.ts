// Section 5 of Marchese 2022. Where the text assumes a tie-break, so does the test.
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { allCandidates } from "../scoring/score-table.ts";
import { channel, links, node, workload } from "../testing/problems.ts";
import { CommunicationAffinity } from "./communication-affinity.ts";

const AT = "2026-01-01T00:00:00.000Z";
const NODES = ["node0", "node1", "node2", "node3"];
const cluster = new ClusterGraph({
  version: 1,
  observedAt: AT,
  windowSeconds: 30,
  nodes: NODES.map((name) => node(name, null, null)),
  links: links(
    ["node0", "node2", 20],
    ["node1", "node2", 20],
    ["node0", "node1", 40],
    ["node2", "node3", 100],
    ["node0", "node3", 120],
    ["node1", "node3", 120],
  ),
});

const GB = 1e9;
const MEMORY: Readonly<Record<string, number>> = { rabbitmq: 3 * GB };
const ROUTES: readonly (readonly [source: string, target: string, type: string])[] = [
  ["api-gateway", "message-publisher", "HTTPRoute"],
  ["api-gateway", "message-reader", "HTTPRoute"],
  ["api-gateway", "message-notifier", "HTTPServerPushRoute"],
  ["message-publisher", "rabbitmq", "AMQPRoute"],
  ["message-reader", "rabbitmq", "AMQPRoute"],
  ["message-notifier", "rabbitmq", "AMQPRoute"],
  ["message-reader", "mongodb", "SynchronousRoute"],
];
/** Bytes per second from api-gateway to each target, once the application has run. */
type Traffic = Readonly<Record<string, number>>;

/** In queue order: [pod, nodes with room, nodes with the highest score, chosen node]. */
const STEPS: readonly (readonly [string, readonly string[], readonly string[], string])[] = [
  ["rabbitmq", NODES, NODES, "node3"],
  ["mongodb", ["node0", "node1", "node2"], ["node0", "node1", "node2"], "node2"],
  ["message-notifier", ["node0", "node1", "node2"], ["node2"], "node2"],
  ["message-reader", ["node0", "node1"], ["node0", "node1"], "node1"],
  ["message-publisher", ["node0", "node1"], ["node0", "node1"], "node0"],
  ["api-gateway", ["node0", "node1"], ["node0", "node1"], "node1"],
];

function best(
  strategy: CommunicationAffinity,
  pod: string,
  placed: ReadonlyMap<string, string>,
  traffic: Traffic = {},
): string[] {
  const graph = new WorkflowGraph({
    version: 1,
    observedAt: AT,
    namespace: "shop",
    name: "messaging",
    workloads: STEPS.map(([name]) => {
      const on = name === pod ? null : (placed.get(name) ?? null);
      return workload(name, { cpu: null, memory: null }, { [`${name}-1`]: on });
    }),
    channels: ROUTES.map(([source, target, relationshipType]) =>
      channel(source, target, source === "api-gateway" ? (traffic[target] ?? null) : null, {
        relationshipType,
      }),
    ),
  });
  const candidates = roomy(pod, placed);
  const table = strategy.score({
    pod: { namespace: "shop", name: `${pod}-1`, workload: pod },
    candidates,
    cluster: { graph: cluster, ageSeconds: 1 },
    workflow: { graph, ageSeconds: 1 },
  });
  const scores = allCandidates(table);
  const most = Math.max(...scores.map(({ score }) => score));
  return scores.filter(({ score }) => score === most).map(({ name }) => name);
}

function roomy(pod: string, placed: ReadonlyMap<string, string>): string[] {
  const need = (name: string): number => MEMORY[name] ?? 1.5 * GB;
  return NODES.filter((each) => {
    const used = [...placed].filter(([name, on]) => on === each && name !== pod);
    return used.reduce((sum, [name]) => sum + need(name), need(pod)) <= 4 * GB;
  });
}

describe.each(["raw", "normalized"] as const)("the use case of section 5, %s", (mode) => {
  const strategy = new CommunicationAffinity(mode);

  test("is placed as figure 5 shows it", () => {
    const placed = new Map<string, string>();
    for (const [pod, room, highest, to] of STEPS) {
      expect([pod, roomy(pod, placed), best(strategy, pod, placed)]).toEqual([pod, room, highest]);
      placed.set(pod, to);
    }
  });

  test("has the gateway move to the publisher once that one gets more requests than the reader", () => {
    const placed = new Map(STEPS.map(([pod, , , to]) => [pod, to]));
    const busy = { "message-publisher": 50_000, "message-reader": 10_000, "message-notifier": 1_000 };
    expect(best(strategy, "api-gateway", placed, busy)).toEqual(["node0"]);
    const reading = { ...busy, "message-reader": 90_000 };
    expect(best(strategy, "api-gateway", placed, reading)).toEqual(["node1"]);
  });
});

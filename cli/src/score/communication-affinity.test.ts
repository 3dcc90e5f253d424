// Use case of "Communication Aware Scheduling of Microservices-based Applications on Kubernetes Clusters",
// section 5.
import { describe, expect, test } from "vitest";
import { DumpError } from "./errors.ts";
import { scoreDump } from "./score-dump.ts";

const LATENCIES: Readonly<Record<string, string>> = {
  node0: "node1=40 node2=20 node3=120",
  node1: "node0=40 node2=20 node3=120",
  node2: "node0=20 node1=20 node3=100",
  node3: "node0=120 node1=120 node2=100",
};
const DEPENDENCIES: Readonly<Record<string, readonly object[]>> = {
  "api-gateway": [
    { name: "message-publisher", type: "HTTPRoute" },
    { name: "message-reader", type: "HTTPRoute" },
    { name: "message-notifier", type: "HTTPServerPushRoute" },
  ],
  "message-publisher": [{ name: "rabbitmq", type: "AMQPRoute" }],
  "message-reader": [
    { name: "rabbitmq", type: "AMQPRoute" },
    { name: "mongodb", type: "SynchronousRoute" },
  ],
  "message-notifier": [{ name: "rabbitmq", type: "AMQPRoute" }],
  rabbitmq: [],
  mongodb: [],
};
const PLACED = {
  rabbitmq: "node3",
  mongodb: "node2",
  "message-notifier": "node2",
  "message-reader": "node1",
};

function dump(
  placed: Readonly<Record<string, string>>,
  dependencies: Readonly<Record<string, unknown>> = DEPENDENCIES,
): string {
  const nodes = Object.entries(LATENCIES).map(([name, costs]) => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      annotations: Object.fromEntries(
        costs
          .split(" ")
          .map((cost) => cost.split("="))
          .map(([to, ms]) => [`isochrone.dev/network-cost-${to}`, ms]),
      ),
    },
  }));
  const deployments = Object.entries(dependencies).map(([name, each]) => ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      name,
      namespace: "shop",
      annotations: { "isochrone.dev/dependencies": typeof each === "string" ? each : JSON.stringify(each) },
    },
    spec: { selector: { matchLabels: { app: name } } },
  }));
  const pods = Object.entries(placed).map(([app, nodeName]) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `${app}-1`, namespace: "shop", labels: { app } },
    spec: { nodeName },
  }));
  return JSON.stringify({ apiVersion: "v1", kind: "List", items: [...nodes, ...deployments, ...pods] });
}

const podOf = (app: string): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "new", namespace: "shop", labels: { app } },
  });
const raw = (
  app: string,
  placed: Readonly<Record<string, string>>,
  settings: Record<string, number> = {},
): number[] =>
  scoreDump({
    dumpText: dump(placed),
    podText: podOf(app),
    strategy: "communication-affinity",
    mode: "raw",
    settings: { alpha: 1, beta: 1, gamma: 1, ...settings },
  }).nodes.map(({ raw: score }) => Number((score ?? Number.NaN).toFixed(6)));

describe("isochrone score --strategy communication-affinity", () => {
  test("scores by the declared types of the channels", () => {
    // message-notifier beside rabbitmq on node3: 5 / latency, 5 x gamma on the node itself.
    expect(raw("message-notifier", { rabbitmq: "node3" })).toEqual(
      [5 / 120, 5 / 120, 5 / 100, 5].map((value) => Number(value.toFixed(6))),
    );
    // message-reader: mongodb 25 on node2, rabbitmq 5 on node3.
    const [node0, node1] = raw("message-reader", { rabbitmq: "node3", mongodb: "node2" });
    expect([node0, node1]).toEqual([1.291667, 1.291667]);
  });

  test("has the last step a tie, as the text says, and takes parameters", () => {
    const placed = { ...PLACED, "message-publisher": "node0" };
    const [node0, node1] = raw("api-gateway", placed, { gamma: 2, alpha: 0.5 });
    // 0.5 x (2 x 100 + 100 / 40 + 10 / 20).
    expect([node0, node1]).toEqual([101.5, 101.5]);
  });

  test("takes the user's own types", () => {
    const dumpText = dump({ q: "node1" }, { p: [{ name: "q", type: "MQTTRoute" }], q: [] });
    const { nodes } = scoreDump({
      dumpText,
      podText: podOf("p"),
      strategy: "communication-affinity",
      mode: "raw",
      settings: { alpha: 1, gamma: 1 },
      channelPriorities: "MQTTRoute<AsynchronousRoute=7",
    });
    expect(nodes[1]!.raw).toBe(7);
  });

  test("is normalized when no mode is asked for", () => {
    const options = { dumpText: dump(PLACED), podText: podOf("message-publisher") };
    const scores = scoreDump({ ...options, strategy: "communication-affinity" });
    expect(scores.mode).toBe("normalized");
    expect(scores.nodes[3]).toMatchObject({ name: "node3", parts: { priority: 50, traffic: null } });
  });
});

test.each([
  ["no list", "must be a JSON list of objects, got"],
  ["[1]", "must be a JSON list of objects, got"],
  ["[{}]", "must give each entry a name, got"],
  ['[{"name":"q","priority":-1}]', "must give a priority of at least 0, got -1"],
  ['[{"name":"q","maxNetworkCost":"9"}]', "must give a maxNetworkCost of at least 0, got"],
  ['[{"name":"q","minBandwidth":"much"}]', "must give minBandwidth as a quantity, got"],
])("dependencies %s are an error that says so", (text, message) => {
  const options = { podText: podOf("p"), strategy: "communication-affinity" };
  const scored = () => scoreDump({ dumpText: dump({}, { p: text }), dumpFile: "dump.yaml", ...options });
  expect(scored).toThrow(DumpError);
  expect(scored).toThrow(message);
});

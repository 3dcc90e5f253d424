import { expect, test } from "vitest";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { channel, link, node, workload } from "../testing/problems.ts";
import { workflowLatency, workflowTraffic } from "./workflow-latency.ts";

const SNAPSHOT = { version: 1, observedAt: "2026-01-01T00:00:00.000Z" };
const ZONES = { n1: "za", n2: "za", n3: "zb" } as const;

const cluster = new ClusterGraph({
  ...SNAPSHOT,
  windowSeconds: 30,
  nodes: [
    ...Object.entries(ZONES).map(([name, zone]) => node(name, null, null, { zone })),
    node("n4", null, null),
  ],
  links: [
    ...(["n1", "n2"] as const).flatMap((a) => [link(a, "n3", 30), link("n3", a, 30)]),
    link("n1", "n2", 2),
    link("n2", "n1", 2),
  ],
});

function workflow(
  pods: Readonly<Record<string, readonly string[]>>,
  channels: readonly ReturnType<typeof channel>[],
): WorkflowGraph {
  return new WorkflowGraph({
    ...SNAPSHOT,
    namespace: "shop",
    name: "flow",
    workloads: Object.entries(pods).map(([name, on]) =>
      workload(
        name,
        { cpu: 1, memory: 1 },
        Object.fromEntries(on.map((where, at) => [`${name}-${at}`, where])),
      ),
    ),
    channels: [...channels],
  });
}

test("a channel's rate is divided among its replica pairs, and channels count by their rates", () => {
  const flow = workflow({ web: ["n1"], db: ["n2", "n3"], log: ["n1"] }, [
    channel("web", "db", 300),
    channel("web", "log", 100),
  ]);
  // Half of the 300 over 2 ms, half over 30; the 100 stay on the node.
  expect(workflowLatency(cluster, flow, 0)).toEqual({
    bytesPerSecond: 400,
    ms: (150 * 2 + 150 * 30) / 400,
    unknownBytesPerSecond: 0,
  });
});

test("what is routed to the nearest replica goes there alone", () => {
  const routed = { ...channel("web", "db", 300), routing: "nearest" as const };
  expect(workflowLatency(cluster, workflow({ web: ["n1", "n3"], db: ["n2", "n3"] }, [routed]), 0).ms).toBe(1);
});

test("requests count where nobody counts bytes, if they are to", () => {
  const silent = { ...channel("web", "db", 0), bytesPerSecond: null, requestsPerSecond: 10 };
  const flow = workflow({ web: ["n1"], db: ["n2"] }, [silent]);
  expect(workflowLatency(cluster, flow, 2_000)).toEqual({
    bytesPerSecond: 20_000,
    ms: 2,
    unknownBytesPerSecond: 0,
  });
  expect(workflowLatency(cluster, flow, 0)).toEqual({
    bytesPerSecond: 0,
    ms: null,
    unknownBytesPerSecond: 0,
  });
});

test("what isn't known is told apart: a cost, a node, an end that isn't placed", () => {
  const flow = workflow({ web: ["n1"], db: ["n2", "n4"], cache: [], gone: ["n9"] }, [
    channel("web", "db", 300),
    channel("web", "cache", 50),
    channel("gone", "web", 20),
  ]);
  expect(workflowLatency(cluster, flow, 0)).toEqual({
    bytesPerSecond: 150,
    ms: 2,
    unknownBytesPerSecond: 150 + 50 + 20,
  });
  expect(workflowTraffic(flow, 0)).toBe(300 + 50 + 20);
});

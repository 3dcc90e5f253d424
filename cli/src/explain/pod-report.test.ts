import type { KubernetesObject } from "@isochrone/kubernetes";
import type { Decision } from "@isochrone/topology";
import { expect, test } from "vitest";
import { podReport } from "./pod-report.ts";

const pod = (spec: Record<string, unknown>, status: Record<string, unknown> = {}): KubernetesObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { namespace: "shop", name: "cart-1" },
  spec,
  status,
});

const decision = (
  best: string | null,
  candidates: Partial<Decision["candidates"][number]>[] = [],
): Decision => ({
  id: "1",
  at: "2026-01-01T00:00:00Z",
  pod: { namespace: "shop", name: "cart-1" },
  workflow: "shop/flow",
  workload: "cart",
  strategy: "resource-network",
  mode: "normalized",
  inputs: { clusterVersion: 1, clusterAgeSeconds: 1, workflowVersion: 1, workflowAgeSeconds: 1 },
  explanation: [],
  best,
  candidates: candidates.map((fields) => {
    return { name: "n1", feasible: true, reason: null, raw: null, score: 0, parts: {}, ...fields };
  }),
});

const unschedulable = (message: string) => ({
  conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }],
});

test("a placed pod: by whom, and that it was our best node", () => {
  const report = podReport(pod({ nodeName: "n1", schedulerName: "default-scheduler" }), decision("n1"));
  expect(report).toMatchObject({ state: "placed", node: "n1" });
  expect(report.sentences).toEqual([
    "It is on n1, put there by default-scheduler.",
    "resource-network scored n1 highest.",
  ]);
});

test("a placed pod without a decision: that it wasn't asked about is said only if all were asked", () => {
  const placed = pod({ nodeName: "n1" });
  expect(podReport(placed, null).sentences[1]).toContain("it wasn't asked about");
  expect(podReport(placed, null, false).sentences[1]).toMatch(/^Whether there was a decision .* not known/);
});

test("a pod that kube-scheduler put elsewhere: both scores", () => {
  const candidates = [
    { name: "n2", score: 91.2 },
    { name: "n1", score: 40 },
  ];
  expect(podReport(pod({ nodeName: "n1" }), decision("n2", candidates)).sentences[1]).toContain(
    "scored n2 highest (91; n1: 40)",
  );
});

test("a pending pod: each of kube-scheduler's causes, and the nodes that our filter refused", () => {
  const message =
    "0/8 nodes are available: 2 maxNetworkCost of channel a -> b is 5, the network cost to n1 is 7.000, 5 Insufficient cpu, " +
    "1 node(s) had untolerated taint {a: b}. preemption: 0/8 nodes are available: 8 No preemption victims found.";
  const refused = [{ name: "n1", feasible: false, reason: "maxNetworkCost of channel a -> b is 5" }];
  const { state, sentences } = podReport(pod({}, unschedulable(message)), decision(null, refused));
  expect(state).toBe("pending");
  expect(sentences).toEqual([
    "0/8 nodes are available, says kube-scheduler:",
    "- 2 maxNetworkCost of channel a -> b is 5, the network cost to n1 is 7.000",
    "- 5 Insufficient cpu",
    "- 1 node(s) had untolerated taint {a: b}",
    "preemption: 0/8 nodes are available: 8 No preemption victims found.",
    "Isochrone's filter refused n1: maxNetworkCost of channel a -> b is 5",
  ]);
});

test.each([
  ["no condition", {}, "kube-scheduler has not tried it yet, or no scheduler of its schedulerName runs."],
  [
    "other words",
    unschedulable("running Reserve plugin: no"),
    "kube-scheduler says: running Reserve plugin: no",
  ],
])("a pending pod with %s", (_, status, sentence) => {
  expect(podReport(pod({}, status), null).sentences).toEqual([sentence]);
});

test("gated, nominated and finished pods", () => {
  const gated = podReport(pod({ schedulingGates: [{ name: "isochrone.dev/placement" }] }), null);
  expect(gated).toMatchObject({
    state: "gated",
    sentences: [expect.stringContaining("isochrone.dev/placement")],
  });
  expect(podReport(pod({}, { nominatedNodeName: "n2" }), null)).toMatchObject({
    state: "nominated",
    node: "n2",
  });
  expect(podReport(pod({ nodeName: "n2" }, { phase: "Failed" }), null).state).toBe("finished");
});

test("a planned pod: that the plan was followed, or what stood against it", () => {
  const planned = { ...decision("n1"), kind: "plan" as const, plan: "p-7" };
  expect(podReport(pod({ nodeName: "n1" }), planned).sentences[1]).toBe(
    "That is where the plan p-7 of its workflow wanted it.",
  );
  const outcome = { at: "2026-01-01T00:00:01Z", result: "elsewhere", node: "n2", reason: "n1 is full" };
  expect(podReport(pod({ nodeName: "n2" }), { ...planned, outcome }).sentences[1]).toBe(
    "The plan p-7 of its workflow wanted it on n1: n1 is full.",
  );
  const released = {
    ...decision(null),
    kind: "plan" as const,
    explanation: ["Released without a plan (x): y"],
  };
  expect(podReport(pod({ nodeName: "n2" }), released).sentences[1]).toBe("Released without a plan (x): y");
});

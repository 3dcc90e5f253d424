import type {
  Channel,
  ClusterGraphSnapshot,
  Link,
  OutsideFlow,
  WorkflowGraphSnapshot,
} from "@isochrone/topology";
import { expect, test } from "vitest";
import { busiestLink, callsPerRequest, networkMsPerRequest } from "./network-time.ts";

const AT = new Date().toISOString();

const node = (name: string): ClusterGraphSnapshot["nodes"][number] => ({
  name,
  zone: null,
  region: null,
  segment: null,
  ready: true,
  cordoned: false,
  allocatableCpuMillicores: 4_000,
  allocatableMemoryBytes: 8e9,
  availableCpuMillicores: 2_000,
  availableMemoryBytes: 4e9,
  coordinate: null,
  usageAgeSeconds: 1,
});
const link = (source: string, target: string, costMs: number): Link => ({
  source,
  target,
  method: "udp_rr",
  ipFamily: 4,
  rttMs: { p50: costMs, p90: costMs, p99: null, mean: costMs, count: 60 },
  lossRatio: 0,
  jitterMs: 0,
  bandwidthBitsPerSecond: { capacity: null, achieved: null, available: null },
  costMs,
  errorMs: null,
  origin: "measured",
  ageSeconds: 0,
  observedAt: AT,
  provisional: false,
});
const CLUSTER: ClusterGraphSnapshot = {
  version: 1,
  observedAt: AT,
  windowSeconds: 30,
  nodes: ["n1", "n2", "n3"].map(node),
  links: [link("n1", "n2", 10), link("n2", "n1", 10), link("n1", "n3", 50), link("n2", "n3", 60)],
};
const workload = (name: string, at: string): WorkflowGraphSnapshot["workloads"][number] => ({
  name,
  kind: "Deployment",
  namespace: "default",
  cpuMillicores: 1,
  memoryBytes: 1,
  pods: [{ name: `${name}-x`, node: at }],
});
const channel = (source: string, target: string, requestsPerSecond: number): Channel => ({
  source,
  target,
  bytesPerSecond: 1_000_000,
  requestsPerSecond,
  errorRatio: 0,
  priority: null,
  relationshipType: null,
  maxNetworkCost: null,
  minBandwidthBitsPerSecond: null,
  origin: "observed",
  ageSeconds: 0,
});

const entering = (receivedRequestsPerSecond: number): OutsideFlow => ({
  workload: "a",
  destination: "unknown",
  sentBytesPerSecond: 0,
  receivedBytesPerSecond: 1_000,
  sentRequestsPerSecond: 0,
  receivedRequestsPerSecond,
  countedBy: "destination",
  ageSeconds: 0,
});

/** 5 requests/s enter. In each, a calls b twice and c once. b calls nothing; c calls d on its node. */
const WORKFLOW: WorkflowGraphSnapshot = {
  version: 1,
  observedAt: AT,
  namespace: "default",
  name: "sample",
  workloads: [workload("a", "n1"), workload("b", "n2"), workload("c", "n3"), workload("d", "n3")],
  channels: [channel("a", "b", 10), channel("a", "c", 5), channel("c", "d", 5)],
  outside: [entering(5)],
};

const SAMPLE = { cluster: CLUSTER, workflows: [WORKFLOW] };
const CALLS = callsPerRequest([WORKFLOW])!;

test("the network time of a request is the sum of the round trips of the calls that it causes", () => {
  expect(networkMsPerRequest(SAMPLE, CALLS)).toBeCloseTo((10 * 10 + 5 * 50) / 5, 9);
});

test("it is not known while a call crosses a link of which nothing is known, or nothing enters", () => {
  const links = CLUSTER.links.filter(({ target }) => target !== "n3");
  const [n1, n2, n3] = CLUSTER.nodes;
  const unknown = { ...CLUSTER, nodes: [n1!, n2!, { ...n3!, zone: "z", region: "r" }], links };
  expect(networkMsPerRequest({ ...SAMPLE, cluster: unknown }, CALLS)).toBeNull();
  expect(networkMsPerRequest({ ...SAMPLE, workflows: [] }, CALLS)).toBeNull();
  expect(callsPerRequest([{ ...WORKFLOW, outside: [entering(0)] }])).toBeNull();
});

test("calls that fail while pods are replaced, and rates that change, are no gain of the placement", () => {
  const outage = { ...WORKFLOW, channels: WORKFLOW.channels.slice(0, 1) };
  expect(networkMsPerRequest({ ...SAMPLE, workflows: [outage] }, CALLS)).toBeCloseTo(70, 9);
  // A graph that counts a quarter less does so for all calls.
  const channels = WORKFLOW.channels.map((each) =>
    channel(each.source, each.target, 0.75 * each.requestsPerSecond!),
  );
  const fewer = callsPerRequest([{ ...WORKFLOW, channels, outside: [entering(3.75)] }])!;
  expect(networkMsPerRequest(SAMPLE, fewer)).toBeCloseTo(70, 9);
});

test("the busiest link is the one with most calls, not most bytes or milliseconds", () => {
  expect(busiestLink(CLUSTER, [WORKFLOW])).toEqual({ source: "n1", target: "n2", rttMs: 10 });
  const together = { ...WORKFLOW, workloads: WORKFLOW.workloads.map(({ name }) => workload(name, "n1")) };
  expect(busiestLink(CLUSTER, [together])).toBeNull();
});

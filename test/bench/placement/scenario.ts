import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { Channel, ClusterNode, Link, Workload } from "@isochrone/topology";
import { seededRandom } from "@isochrone/runtime";
import type { GraphSource } from "@isochrone/scheduler-plugin/testing";

const ZONES = 6;
/** Peers per probe beyond 32 nodes (design §5). */
const PEERS = 16;
const REPLICAS = 3;
const NEIGHBOURS = 6;

export function nodeName(index: number): string {
  return `ip-10-${index >> 8}-${index & 255}-7.eu-central-1.compute.internal`;
}

/** Graphs as the graph API would return them at `nowMs`. */
export function graphsOf(nodeCount: number, nowMs: number): GraphSource {
  const observedAt = new Date(nowMs).toISOString();
  const random = seededRandom(7);
  const nodes = Array.from({ length: nodeCount }, (_, index): ClusterNode => node(index, random.next()));
  const links: Link[] = [];
  for (let source = 0; source < nodeCount; source++) {
    for (let peer = 0; peer < PEERS; peer++) {
      links.push(
        link(nodeName(source), nodeName(Math.floor(random.next() * nodeCount)), 0.2 + 40 * random.next()),
      );
    }
  }
  const cluster = new ClusterGraph({ version: 1, observedAt, windowSeconds: 300, nodes, links });
  cluster.prepare();
  const place = (): string => nodeName(Math.floor(random.next() * nodeCount));
  const others = Array.from({ length: NEIGHBOURS }, (_, index) => `service-${index}`);
  const workflow = new WorkflowGraph({
    version: 1,
    observedAt,
    namespace: "shop",
    name: "flow",
    workloads: [
      workload("frontend", []),
      ...others.map((name) => workload(name, Array.from({ length: REPLICAS }, place))),
    ],
    channels: others.map((name, index) => channel("frontend", name, 1_000 * (index + 1))),
  });
  return {
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    cluster: () => cluster,
    workflow: () => workflow,
    ready: () => true,
  };
}

export function allNames(nodeCount: number): string[] {
  return Array.from({ length: nodeCount }, (_, index) => nodeName(index));
}

/** Four fifths of the nodes in random order, like the lists after kube-scheduler's filters. */
export function shuffledNames(nodeCount: number, seed: number): string[] {
  const random = seededRandom(seed);
  const names = allNames(nodeCount);
  for (let last = names.length - 1; last > 0; last--) {
    const other = Math.floor(random.next() * (last + 1));
    [names[last], names[other]] = [names[other]!, names[last]!];
  }
  return names.slice(0, Math.ceil(0.8 * nodeCount));
}

/** ExtenderArgs of a nodeCacheCapable extender with a pod of about 2 kB. */
export function requestBody(names: readonly string[], pod: number): string {
  return JSON.stringify({
    Pod: {
      metadata: {
        name: `frontend-5d4f6c7b8-${pod}`,
        namespace: "shop",
        uid: "7c1f0f2e-0d7e-4b3c-9f0e-2d3a4b5c6d7e",
        labels: { app: "frontend", "isochrone.dev/workflow": "flow", "pod-template-hash": "5d4f6c7b8" },
        ownerReferences: [
          {
            apiVersion: "apps/v1",
            kind: "ReplicaSet",
            name: "frontend-5d4f6c7b8",
            uid: "a",
            controller: true,
          },
        ],
      },
      spec: {
        containers: Array.from({ length: 3 }, (_, index) => ({
          name: `container-${index}`,
          image: "registry.example/shop/frontend:1.2.3",
          resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "256Mi" } },
          env: Array.from({ length: 8 }, (_, key) => ({
            name: `SETTING_${key}`,
            value: "some value of a setting",
          })),
        })),
      },
      status: { phase: "Pending" },
    },
    Nodes: null,
    NodeNames: names,
  });
}

function node(index: number, load: number): ClusterNode {
  return {
    name: nodeName(index),
    zone: `zone-${index % ZONES}`,
    region: "eu-central-1",
    segment: null,
    ready: true,
    cordoned: false,
    allocatableCpuMillicores: 16_000,
    allocatableMemoryBytes: 64e9,
    availableCpuMillicores: 16_000 * load,
    availableMemoryBytes: 64e9 * load,
    coordinate: null,
    usageAgeSeconds: 3,
  };
}

function link(source: string, target: string, costMs: number): Link {
  return {
    source,
    target,
    method: "icmp",
    ipFamily: 4,
    rttMs: { p50: costMs, p90: costMs, p99: costMs, mean: costMs, count: 300 },
    lossRatio: 0,
    jitterMs: 0.1,
    bandwidthBitsPerSecond: { capacity: null, achieved: null, available: null },
    costMs,
    errorMs: 0.05,
    origin: "measured",
    provisional: false,
    ageSeconds: 2,
    observedAt: null,
  };
}

function workload(name: string, nodes: readonly string[]): Workload {
  return {
    name,
    kind: "Deployment",
    namespace: "shop",
    cpuMillicores: 120,
    memoryBytes: 2e8,
    pods: nodes.map((node, index) => ({ name: `${name}-${index}`, node })),
  };
}

function channel(source: string, target: string, bytesPerSecond: number): Channel {
  return {
    source,
    target,
    bytesPerSecond,
    requestsPerSecond: 10,
    errorRatio: 0,
    priority: null,
    maxNetworkCost: null,
    minBandwidthBitsPerSecond: null,
    origin: "observed",
    ageSeconds: 2,
  };
}

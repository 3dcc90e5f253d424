// Compares with an independent implementation of section 3.4 on random clusters. Evictions:
// paper-mode.test.ts.
import { createStrategy, DEFAULT_SPREAD } from "@isochrone/placement";
import { KINDS } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { seededRandom } from "@isochrone/runtime";
import type { Random } from "@isochrone/runtime";
import { ManualClock } from "@isochrone/runtime/testing";
import { channel, link, node, workload } from "@isochrone/placement/testing";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { expect, test } from "vitest";
import { paperDecision } from "./paper-decision.ts";
import { survey } from "./survey.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const AT = new Date(NOW).toISOString();

interface Case {
  readonly cpu: readonly number[];
  readonly memory: readonly number[];
  readonly costMs: readonly (readonly number[])[];
  readonly workloads: readonly {
    readonly cpu: number;
    readonly memory: number;
    readonly on: readonly number[];
  }[];
  readonly channels: readonly { readonly source: number; readonly target: number; readonly rate: number }[];
  readonly weights: Readonly<Record<"alpha" | "beta" | "gamma" | "delta", number>>;
}

const NODES = 5;
const WORKLOADS = 6;

function randomCase(random: Random): Case {
  const from = (least: number, most: number): number => least + (most - least) * random.next();
  const among = (count: number): number => Math.floor(random.next() * count);
  const list = <T>(length: number, make: (index: number) => T): T[] =>
    Array.from({ length }, (_, i) => make(i));
  const [alpha, gamma] = [random.next(), random.next()];
  return {
    cpu: list(NODES, () => from(500, 8_000)),
    memory: list(NODES, () => from(1e9, 8e9)),
    costMs: list(NODES, (a) => list(NODES, (b) => (a === b ? 0 : from(1, 100)))),
    workloads: list(WORKLOADS, () => ({
      cpu: from(10, 400),
      memory: from(1e7, 5e8),
      on: list(1 + among(3), () => among(NODES)),
    })),
    channels: list(8, () => ({
      source: among(WORKLOADS),
      target: among(WORKLOADS),
      rate: from(1, 400),
    })).filter(
      ({ source, target }, index, all) =>
        source !== target &&
        all.findIndex((other) => other.source === source && other.target === target) === index,
    ),
    weights: { alpha, beta: 1 - alpha, gamma, delta: 1 - gamma },
  };
}

/** Algorithm 1 of the paper, line by line, per pod. Each call sees the pods already moved. */
function expected({ cpu, memory, costMs, workloads, channels, weights }: Case): string[] {
  const { alpha, beta, gamma, delta } = weights;
  const at = workloads.map(({ on }) => [...on]);
  const left = { cpu: [...cpu], memory: [...memory] };
  const moves: string[] = [];
  for (const [index, pod] of workloads.entries()) {
    for (const [replica, own] of pod.on.entries()) {
      const score = (n: number): number => {
        const rascore =
          alpha * ((left.cpu[n]! - pod.cpu) / pod.cpu) * 100 +
          beta * ((left.memory[n]! - pod.memory) / pod.memory) * 100;
        let cmc = 0;
        for (const { source, target, rate } of channels) {
          if (source !== index && target !== index) continue;
          const peers = at[source === index ? target : source]!;
          for (const peer of peers) cmc += costMs[n]![peer]! * (rate / (at[index]!.length * peers.length));
        }
        return gamma * rascore + delta * -cmc;
      };
      const scores = cpu.map((_, n) => score(n));
      const best = scores.indexOf(Math.max(...scores));
      if (best === own) continue;
      moves.push(`w${index}-${replica} n${own}>n${best}`);
      at[index]![replica] = best;
      left.cpu[best]! -= pod.cpu;
      left.memory[best]! -= pod.memory;
      break;
    }
  }
  return moves;
}

async function decided(of: Case): Promise<string[]> {
  const names = of.cpu.map((_, index) => `n${index}`);
  const cluster = new ClusterGraph({
    version: 1,
    observedAt: AT,
    windowSeconds: 30,
    nodes: names.map((name, n) => node(name, of.cpu[n]!, of.memory[n]!)),
    links: names.flatMap((a, i) => names.flatMap((b, j) => (i === j ? [] : [link(a, b, of.costMs[i]![j]!)]))),
  });
  const graph = new WorkflowGraph({
    version: 1,
    observedAt: AT,
    namespace: "shop",
    name: "flow",
    workloads: of.workloads.map(({ cpu, memory, on }, index) =>
      workload(
        `w${index}`,
        { cpu, memory },
        Object.fromEntries(on.map((n, r) => [`w${index}-${r}`, `n${n}`])),
      ),
    ),
    channels: of.channels.map(({ source, target, rate }) => channel(`w${source}`, `w${target}`, rate)),
  });
  const found = survey({
    lists: { ...NOTHING, ...objectsOf(of, names) },
    cluster,
    workflowGraph: () => graph,
    isGated: () => true,
    inFlight: new Set(),
    backingOff: new Set(),
    settled: () => new Map(),
    begun: new Set(),
    left: new Map(),
    rules: { minPodAgeMs: 0, allowLocalStorage: false, allowStatefulSets: false, allowSingleReplicas: true },
    maxUnreadyRatio: 1,
    spread: DEFAULT_SPREAD,
    nowMs: NOW,
  });
  const strategy = createStrategy({ strategy: "resource-network", mode: "raw", settings: of.weights });
  const { moves, rows } = await paperDecision({
    found,
    cluster,
    workflowGraph: () => graph,
    scoring: { strategy, usageHeadroom: false },
    closed: null,
    clock: new ManualClock(NOW),
  });
  expect(rows).toHaveLength(of.workloads.reduce((sum, { on }) => sum + on.length, 0));
  return moves.map(({ pod, from, to }) => `${pod.name} ${from}>${to}`);
}

test("moves the pods that Algorithm 1, worked out anew, moves: 200 random clusters", async () => {
  const random = seededRandom(7);
  let moves = 0;
  for (let count = 0; count < 200; count++) {
    const of = randomCase(random);
    const wanted = expected(of);
    expect(await decided(of), `case ${count}`).toEqual(wanted);
    moves += wanted.length;
  }
  expect(moves).toBeGreaterThan(200);
});

const NOTHING = {
  namespaces: [],
  statefulSets: [],
  persistentVolumes: [],
  persistentVolumeClaims: [],
  csiNodes: [],
  volumeAttachments: [],
};

function objectsOf(
  { workloads }: Case,
  names: readonly string[],
): Record<"nodes" | "pods" | "replicaSets" | "deployments", KubernetesObject[]> {
  const controlled = (kind: string, name: string) => [
    { apiVersion: "apps/v1", kind, name, uid: name, controller: true },
  ];
  const creationTimestamp = "2025-12-31T00:00:00Z";
  const counts = (replicas: number) => ({ replicas, readyReplicas: replicas, updatedReplicas: replicas });
  return {
    nodes: names.map((name) => ({
      ...KINDS.node,
      metadata: { name, labels: { "kubernetes.io/hostname": name } },
      spec: {},
      status: {
        allocatable: { cpu: "8", memory: "16Gi", pods: "110" },
        conditions: [{ type: "Ready", status: "True" }],
      },
    })),
    deployments: workloads.map(({ on }, index) => ({
      ...KINDS.deployment,
      metadata: { name: `w${index}`, namespace: "shop", creationTimestamp },
      spec: { replicas: on.length },
      status: counts(on.length),
    })),
    replicaSets: workloads.map(({ on }, index) => ({
      ...KINDS.replicaSet,
      metadata: {
        name: `w${index}-1`,
        namespace: "shop",
        uid: `w${index}-1`,
        creationTimestamp,
        ownerReferences: controlled("Deployment", `w${index}`),
      },
      spec: { replicas: on.length },
      status: counts(on.length),
    })),
    pods: workloads.flatMap(({ on }, index) =>
      on.map((at, replica) => ({
        ...KINDS.pod,
        metadata: {
          name: `w${index}-${replica}`,
          namespace: "shop",
          uid: `w${index}-${replica}`,
          creationTimestamp,
          labels: { "pod-template-hash": "1", "isochrone.dev/workflow": "flow" },
          ownerReferences: controlled("ReplicaSet", `w${index}-1`),
        },
        spec: { nodeName: names[at], containers: [{ name: "app", resources: { requests: { cpu: "1m" } } }] },
        status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
      })),
    ),
  };
}

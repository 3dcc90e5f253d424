// A memory-store cluster. Evicted pods return on their move record's node or on the emptiest.
import { KINDS, PLACEMENT_GATE } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { redeemableMove } from "@isochrone/kubernetes/testing";
import type { Clock, Random } from "@isochrone/runtime";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { Day } from "./drift.ts";

const NAMESPACE = "shop";
const WORKFLOW = "flow";
const NODE_CPUS = 8;
/** Maximum relative measurement error. */
const NOISE = 0.05;

export interface WorldMove {
  readonly atMs: number;
  readonly workload: string;
  /** Identity shared by a pod and its replacements. */
  readonly line: number;
  readonly from: string;
  readonly to: string;
}

interface Placed {
  readonly name: string;
  readonly workload: number;
  readonly line: number;
  readonly node: number;
}

export class World {
  readonly store: ClusterStore;
  readonly moves: WorldMove[] = [];
  readonly #day: Day;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #startMs: number;
  #pods: Placed[] = [];
  #created = 0;
  #graphs: { readonly cluster: ClusterGraph; readonly workflow: WorkflowGraph } | null = null;

  constructor(day: Day, clock: Clock, random: Random, startMs: number) {
    this.#day = day;
    this.#clock = clock;
    this.#random = random;
    this.#startMs = startMs;
    this.store = createMemoryStore({ clock });
  }

  /** Time since the start of the day, ms; 0 before it. */
  get atMs(): number {
    return Math.max(0, this.#clock.now() - this.#startMs);
  }

  get pods(): readonly Placed[] {
    return this.#pods;
  }

  nodeIndex(name: string): number {
    return this.#day.nodes.findIndex((node) => node.name === name);
  }

  /** @param nodeOf by workload and replica */
  async begin(nodeOf: (workload: number, replica: number) => number): Promise<void> {
    for (const [index, node] of this.#day.nodes.entries()) await this.store.create(nodeObject(node, index));
    for (const [workload, { name, replicas }] of this.#day.workloads.entries()) {
      await this.store.create(deploymentOf(name, replicas));
      await this.store.create(replicaSetOf(name, replicas));
      for (let replica = 0; replica < replicas; replica++)
        await this.#addPod(workload, nodeOf(workload, replica));
    }
  }

  measure(): void {
    const { nodes, workloads, channels } = this.#day;
    const observedAt = new Date(this.#clock.now()).toISOString();
    const noisy = (value: number): number => value * (1 + NOISE * (2 * this.#random.next() - 1));
    const names = nodes.map(({ name }) => name);
    const cluster = new ClusterGraph({
      version: this.atMs,
      observedAt,
      windowSeconds: 300,
      nodes: nodes.map(({ name, zone, region }) => ({ ...NODE_FACTS, name, zone, region })),
      links: names.flatMap((source, a) =>
        names.flatMap((target, b) =>
          a === b
            ? []
            : [
                {
                  ...LINK_FACTS,
                  source,
                  target,
                  observedAt,
                  costMs: noisy(this.#day.costMs(a, b, this.atMs)),
                },
              ],
        ),
      ),
    });
    const workflow = new WorkflowGraph({
      version: this.atMs,
      observedAt,
      namespace: NAMESPACE,
      name: WORKFLOW,
      workloads: workloads.map(({ name }, workload) => ({
        name,
        kind: "Deployment",
        namespace: NAMESPACE,
        cpuMillicores: 100,
        memoryBytes: 1e8,
        pods: this.#pods
          .filter((pod) => pod.workload === workload)
          .map((pod) => ({ name: pod.name, node: names[pod.node]! })),
      })),
      channels: channels.map(({ source, target }, index) => ({
        ...CHANNEL_FACTS,
        source: workloads[source]!.name,
        target: workloads[target]!.name,
        bytesPerSecond: noisy(this.#day.rate(index, this.atMs)),
      })),
    });
    this.#graphs = { cluster, workflow };
  }

  cluster(): ClusterGraph | null {
    return this.#graphs?.cluster ?? null;
  }

  workflow(namespace: string, name: string): WorkflowGraph | null {
    return namespace === NAMESPACE && name === WORKFLOW ? (this.#graphs?.workflow ?? null) : null;
  }

  /** Replaces evicted pods. @param chosen node by pod, for replacements without a move record */
  async settle(chosen: ReadonlyMap<string, string> = new Map()): Promise<void> {
    const there = new Set((await this.store.list(KINDS.pod)).items.map(({ metadata }) => metadata.name));
    for (const gone of this.#pods.filter(({ name }) => !there.has(name))) {
      const { name } = this.#day.workloads[gone.workload]!;
      const owner = (await this.store.get({ ...KINDS.replicaSet, namespace: NAMESPACE, name: `${name}-1` }))!;
      const record = redeemableMove(owner, { ...KINDS.pod, metadata: { name: "new" } }, this.#clock.now());
      const target = this.#day.nodes.findIndex((node) => node.name === (record?.to ?? chosen.get(gone.name)));
      this.#pods = this.#pods.filter((pod) => pod !== gone);
      const node = target >= 0 ? target : this.#emptiest();
      await this.#addPod(gone.workload, node, gone.line);
      const { nodes } = this.#day;
      this.moves.push({
        atMs: this.atMs,
        workload: name,
        line: gone.line,
        from: nodes[gone.node]!.name,
        to: nodes[node]!.name,
      });
    }
  }

  /** True cost of the current placement, bytes/s x ms. */
  cost(nodeOf: readonly { readonly workload: number; readonly node: number }[] = this.#pods): number {
    const { workloads, channels } = this.#day;
    const on = workloads.map((_, workload) => nodeOf.filter((pod) => pod.workload === workload));
    let sum = 0;
    for (const [index, { source, target }] of channels.entries()) {
      const rate = this.#day.rate(index, this.atMs) / (on[source]!.length * on[target]!.length);
      for (const a of on[source]!)
        for (const b of on[target]!) sum += rate * this.#day.costMs(a.node, b.node, this.atMs);
    }
    return sum;
  }

  async lists(): Promise<Record<"pods" | "nodes" | "replicaSets" | "deployments", KubernetesObject[]>> {
    const of = async (kind: Parameters<ClusterStore["list"]>[0]): Promise<KubernetesObject[]> =>
      (await this.store.list(kind)).items;
    return {
      pods: await of(KINDS.pod),
      nodes: await of(KINDS.node),
      replicaSets: await of(KINDS.replicaSet),
      deployments: await of(KINDS.deployment),
    };
  }

  async #addPod(workload: number, node: number, line = this.#created): Promise<void> {
    const { name: of } = this.#day.workloads[workload]!;
    const name = `${of}-1-${(this.#created++).toString(36)}`;
    const owner = await this.store.get({ ...KINDS.replicaSet, namespace: NAMESPACE, name: `${of}-1` });
    await this.store.create(podOf(name, of, owner!.metadata.uid!, this.#day.nodes[node]!.name));
    this.#pods.push({ name, workload, line, node });
  }

  #emptiest(): number {
    const counts = this.#day.nodes.map((_, node) => this.#pods.filter((pod) => pod.node === node).length);
    return counts.indexOf(Math.min(...counts));
  }
}

const NODE_FACTS = {
  segment: null,
  ready: true,
  cordoned: false,
  allocatableCpuMillicores: NODE_CPUS * 1_000,
  allocatableMemoryBytes: 64e9,
  availableCpuMillicores: null,
  availableMemoryBytes: null,
  coordinate: null,
  usageAgeSeconds: null,
} as const;

const LINK_FACTS = {
  method: "udp_rr",
  ipFamily: 4,
  rttMs: { p50: null, p90: null, p99: null, mean: null, count: 30 },
  lossRatio: 0,
  jitterMs: null,
  bandwidthBitsPerSecond: { capacity: null, achieved: null, available: null },
  errorMs: 0,
  origin: "measured",
  provisional: false,
  ageSeconds: 0,
} as const;

const CHANNEL_FACTS = {
  requestsPerSecond: null,
  errorRatio: null,
  priority: null,
  maxNetworkCost: null,
  minBandwidthBitsPerSecond: null,
  origin: "observed",
  ageSeconds: 0,
} as const;

function nodeObject({ name, zone, region }: Day["nodes"][number], index: number): KubernetesObject {
  const labels = {
    "kubernetes.io/hostname": name,
    "topology.kubernetes.io/zone": zone,
    "topology.kubernetes.io/region": region,
  };
  const allocatable = { cpu: String(NODE_CPUS), memory: "64Gi", pods: "110" };
  const conditions = [{ type: "Ready", status: "True" }];
  return {
    ...KINDS.node,
    metadata: { name, labels, annotations: { index: String(index) } },
    spec: {},
    status: { allocatable, conditions },
  };
}

function deploymentOf(name: string, replicas: number): KubernetesObject {
  return {
    ...KINDS.deployment,
    metadata: { name, namespace: NAMESPACE },
    // The simulation replaces pods after they are gone.
    spec: { replicas, strategy: { type: "Recreate" } },
    status: { replicas, updatedReplicas: replicas, readyReplicas: replicas },
  };
}

function replicaSetOf(name: string, replicas: number): KubernetesObject {
  const owner = { apiVersion: "apps/v1", kind: "Deployment", name, uid: name, controller: true };
  const template = {
    metadata: { labels: { app: name } },
    spec: { schedulingGates: [{ name: PLACEMENT_GATE }] },
  };
  return {
    ...KINDS.replicaSet,
    metadata: { name: `${name}-1`, namespace: NAMESPACE, ownerReferences: [owner] },
    spec: { replicas, template },
    status: { replicas, readyReplicas: replicas },
  };
}

function podOf(name: string, workload: string, ownerUid: string, nodeName: string): KubernetesObject {
  const owner = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    name: `${workload}-1`,
    uid: ownerUid,
    controller: true,
  };
  const labels = { app: workload, "pod-template-hash": "1", "isochrone.dev/workflow": WORKFLOW };
  const requests = { cpu: "1", memory: "1Gi" };
  return {
    ...KINDS.pod,
    metadata: { name, namespace: NAMESPACE, labels, ownerReferences: [owner] },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: "app", image: "app", resources: { requests } }],
    },
    status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
  };
}

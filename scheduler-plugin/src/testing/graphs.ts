// Test graphs: the example that packages/placement computes by hand, and a source for them.
import { channel, links, node, workload } from "@isochrone/placement/testing";
import type { PriceTable } from "@isochrone/prices";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { ClusterGraphSnapshot, ClusterNode, WorkflowGraphSnapshot } from "@isochrone/topology";
import type { GraphSource } from "../ports/ports.ts";

const AT = "2026-01-01T00:00:00.000Z";

/** n1, n2 and n3, with 10, 40 and 25 ms between n1-n2, n1-n3 and n2-n3. */
export function clusterSnapshot(fields: Partial<ClusterNode> = {}): ClusterGraphSnapshot {
  const nodeOf = (name: string, cpu: number, memory: number): ClusterNode =>
    node(name, cpu, memory, { allocatableCpuMillicores: 4_000, ...fields });
  return {
    version: 1,
    observedAt: AT,
    windowSeconds: 30,
    nodes: [nodeOf("n1", 2_000, 1e9), nodeOf("n2", 1_000, 6e8), nodeOf("n3", 500, 2e8)],
    links: links(["n1", "n2", 10], ["n1", "n3", 40], ["n2", "n3", 25]),
  };
}

/** p -> q 1,000 B/s and r -> p 500 B/s; p has no pod yet. `limit` is q's maxNetworkCost. */
export function workflowSnapshot(
  pods: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    q: { "q-1": "n2" },
    r: { "r-1": "n3" },
  },
  limit: number | null = null,
): WorkflowGraphSnapshot {
  return {
    version: 1,
    observedAt: AT,
    namespace: "shop",
    name: "flow",
    workloads: [
      workload("p", { cpu: 500, memory: 2e8 }, pods["p"] ?? {}),
      workload("q", { cpu: 1, memory: 1 }, pods["q"] ?? {}),
      workload("r", { cpu: 1, memory: 1 }, pods["r"] ?? {}),
    ],
    channels: [channel("p", "q", 1_000, { maxNetworkCost: limit }), channel("r", "p", 500)],
  };
}

/** The same workflow from a service graph: p -> q 10 requests/s, r -> p 5 requests/s, and no bytes. */
export function requestsOnlySnapshot(): WorkflowGraphSnapshot {
  const snapshot = workflowSnapshot();
  const channels = snapshot.channels.map((channel) => ({
    ...channel,
    bytesPerSecond: null,
    requestsPerSecond: channel.target === "q" ? 10 : 5,
  }));
  return { ...snapshot, channels };
}

export function podJson(name: string, workload: string, uid?: string): object {
  return {
    metadata: {
      name,
      ...(uid === undefined ? {} : { uid }),
      namespace: "shop",
      labels: { "isochrone.dev/workflow": "flow", "pod-template-hash": "5d4f" },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: `${workload}-5d4f`, uid: "u", controller: true },
      ],
    },
    spec: { containers: [{ name: "main" }] },
  };
}

export class MemoryGraphs implements GraphSource {
  #snapshot: ClusterGraphSnapshot | null = clusterSnapshot();
  #cluster: ClusterGraph | null = new ClusterGraph(this.#snapshot!);
  #prices: PriceTable | null = null;
  #workflow: WorkflowGraph | null = new WorkflowGraph(workflowSnapshot());

  setCluster(snapshot: ClusterGraphSnapshot): void {
    this.#snapshot = snapshot;
    this.#cluster = new ClusterGraph(snapshot);
  }

  setPrices(prices: PriceTable): void {
    this.#prices = prices;
  }

  prices(): PriceTable | null {
    return this.#prices;
  }

  setWorkflow(snapshot: WorkflowGraphSnapshot): void {
    this.#workflow = new WorkflowGraph(snapshot);
  }

  clear(): void {
    this.#snapshot = null;
    this.#cluster = null;
    this.#workflow = null;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  cluster(): ClusterGraph | null {
    return this.#cluster;
  }

  clusterSnapshot(): ClusterGraphSnapshot | null {
    return this.#snapshot;
  }

  workflow(namespace: string, name: string): WorkflowGraph | null {
    const workflow = this.#workflow;
    return workflow?.namespace === namespace && workflow.name === name ? workflow : null;
  }

  workflows(): Iterable<WorkflowGraph> {
    return this.#workflow === null ? [] : [this.#workflow];
  }

  ready(): boolean {
    return this.#cluster !== null;
  }
}

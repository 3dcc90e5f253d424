// Nodes while pods come to them, as kube-scheduler keeps account of them.
import type { SchedulableNode, WaitingPod } from "./port.ts";

/**
 * What a container counts as that requests nothing, where scores ask [kube-scheduler, util/pod_resources.go].
 */
const DEFAULT_CPU_MILLICORES = 100;
const DEFAULT_MEMORY_BYTES = 200 * 1024 * 1024;

export interface NodeAccount {
  readonly node: SchedulableNode;
  /** Sums of what its pods request. */
  cpuMillicores: number;
  memoryBytes: number;
  /** The same, with a default for each pod that requests none. */
  nonZeroCpuMillicores: number;
  nonZeroMemoryBytes: number;
  pods: number;
  /** By workload. */
  readonly replicas: Map<string, number>;
}

export function nonZeroCpu({ cpuMillicores }: WaitingPod): number {
  return cpuMillicores === 0 ? DEFAULT_CPU_MILLICORES : cpuMillicores;
}

export function nonZeroMemory({ memoryBytes }: WaitingPod): number {
  return memoryBytes === 0 ? DEFAULT_MEMORY_BYTES : memoryBytes;
}

export class FillingCluster {
  readonly nodes: readonly NodeAccount[];
  readonly #byName: ReadonlyMap<string, NodeAccount>;

  constructor(
    nodes: readonly SchedulableNode[],
    placed: readonly (readonly [pod: WaitingPod, node: string])[] = [],
  ) {
    this.nodes = nodes.map((node) => ({
      node,
      cpuMillicores: 0,
      memoryBytes: 0,
      nonZeroCpuMillicores: 0,
      nonZeroMemoryBytes: 0,
      pods: 0,
      replicas: new Map(),
    }));
    this.#byName = new Map(this.nodes.map((account) => [account.node.name, account]));
    for (const [pod, node] of placed) this.add(pod, node);
  }

  /** Throws RangeError for a node that isn't there. */
  add(pod: WaitingPod, node: string): void {
    this.#count(pod, node, 1);
  }

  remove(pod: WaitingPod, node: string): void {
    this.#count(pod, node, -1);
  }

  account(node: string): NodeAccount | undefined {
    return this.#byName.get(node);
  }

  #count(pod: WaitingPod, node: string, pods: 1 | -1): void {
    const account = this.#byName.get(node);
    if (account === undefined) throw new RangeError(`node ${node} isn't there`);
    account.pods += pods;
    account.cpuMillicores += pods * pod.cpuMillicores;
    account.memoryBytes += pods * pod.memoryBytes;
    account.nonZeroCpuMillicores += pods * nonZeroCpu(pod);
    account.nonZeroMemoryBytes += pods * nonZeroMemory(pod);
    account.replicas.set(pod.workload, (account.replicas.get(pod.workload) ?? 0) + pods);
  }
}

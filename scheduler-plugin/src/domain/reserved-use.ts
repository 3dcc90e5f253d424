// Bounds what a pod on its way takes of its node: its author controls its requests.
import type { ResourceAmounts } from "@isochrone/placement";
import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { LedgerEntry } from "./ledger-entry.ts";
import type { PodIdentity } from "./pod.ts";
import { boundedAmount, MAX_AMOUNTS } from "./bounded-amounts.ts";

export function entryOf(
  pod: PodIdentity,
  node: string,
  graph: WorkflowGraph | null,
  cluster: ClusterGraph | null,
): LedgerEntry {
  const workload =
    pod.workloads.find((name) => graph?.workload(name) !== undefined) ?? pod.workloads[0] ?? pod.name;
  const most = largestNode(cluster);
  return {
    namespace: pod.namespace,
    workflow: pod.workflow,
    workload,
    alternatives: pod.workloads,
    pod: pod.name,
    node,
    cpuMillicores: boundedAmount(pod.requests.cpuMillicores, most.cpuMillicores),
    memoryBytes: boundedAmount(pod.requests.memoryBytes, most.memoryBytes),
  };
}

export function usedBy(entry: LedgerEntry, graph: WorkflowGraph | null): ResourceAmounts {
  const use = graph?.workload(knownWorkload(entry, graph));
  return {
    cpuMillicores: boundedAmount(use?.cpuMillicores ?? entry.cpuMillicores, MAX_AMOUNTS.cpuMillicores),
    memoryBytes: boundedAmount(use?.memoryBytes ?? entry.memoryBytes, MAX_AMOUNTS.memoryBytes),
  };
}

export function knownWorkload({ workload, alternatives }: LedgerEntry, graph: WorkflowGraph | null): string {
  return alternatives?.find((name) => graph?.workload(name) !== undefined) ?? workload;
}

const largest = new WeakMap<ClusterGraph, Amounts>();

type Amounts = { readonly [Name in keyof ResourceAmounts]: number };

/** Upper bound of any pod: the largest node. */
function largestNode(cluster: ClusterGraph | null): Amounts {
  if (cluster === null) return MAX_AMOUNTS;
  const known = largest.get(cluster);
  if (known !== undefined) return known;
  let [cpuMillicores, memoryBytes] = [0, 0];
  for (const node of cluster.nodes) {
    cpuMillicores = Math.max(cpuMillicores, node.allocatableCpuMillicores ?? MAX_AMOUNTS.cpuMillicores);
    memoryBytes = Math.max(memoryBytes, node.allocatableMemoryBytes ?? MAX_AMOUNTS.memoryBytes);
  }
  const found = {
    cpuMillicores: Math.min(cpuMillicores, MAX_AMOUNTS.cpuMillicores),
    memoryBytes: Math.min(memoryBytes, MAX_AMOUNTS.memoryBytes),
  };
  largest.set(cluster, found);
  return found;
}

import { looseFields, looseList, looseText } from "@isochrone/primitives";
import type { KubernetesObject, NodeStatus } from "@isochrone/kubernetes";
import type { SchedulingModel } from "@isochrone/placement";
import type { NodeRejection, StreamNode, TaskRequests } from "./domain/planned-job.ts";

type Amounts = { get(resource: string): number | undefined };

/**
 * Requests of running stream jobs count as free: the strategy assigns them again.
 * @param podKeys namespace/name of their pods
 * @param names of nodes, in the order of the result
 */
export function streamNodes(
  model: SchedulingModel,
  podKeys: Iterable<string>,
  names: readonly string[],
): StreamNode[] {
  const back = new Map<string, TaskRequests>();
  for (const key of podKeys) {
    const node = model.nodeOf(key)?.name;
    const requests = model.held(key)?.requests;
    if (node === undefined || requests === undefined) continue;
    const sum = back.get(node) ?? { memoryBytes: 0, cpuMillicores: 0 };
    const { memoryBytes, cpuMillicores } = amountsOf(requests);
    back.set(node, {
      memoryBytes: sum.memoryBytes + memoryBytes,
      cpuMillicores: sum.cpuMillicores + cpuMillicores,
    });
  }
  return names.map((name) => {
    const state = model.node(name)!;
    const { labels, allocatable, nominated } = state;
    const left = (resource: "cpu" | "memory"): number => {
      let amount = (allocatable.get(resource) ?? 0) - state.used(resource);
      for (const { requests } of nominated.values()) amount -= requests.get(resource) ?? 0;
      return amount;
    };
    const own = back.get(name);
    return {
      name,
      labels: { ...labels },
      totalCpuMillicores: allocatable.get("cpu") ?? 0,
      memoryBytes: left("memory") + (own?.memoryBytes ?? 0),
      cpuMillicores: left("cpu") + (own?.cpuMillicores ?? 0),
    };
  });
}

export function isLost(model: SchedulingModel, node: string, pod: KubernetesObject | undefined): boolean {
  const state = model.node(node);
  if (state === undefined) return true;
  return !state.isReady && pod?.metadata.deletionTimestamp !== undefined;
}

export function requestsOf(model: SchedulingModel, pod: KubernetesObject): TaskRequests {
  return amountsOf(model.schedulingPod(pod).requests);
}

export function rejectionOf(
  model: SchedulingModel,
  pod: KubernetesObject,
  node: string,
): NodeRejection | null {
  const noTarget = model.node(node)?.noTarget ?? null;
  return noTarget === null ? model.verdict(pod, node) : { plugin: "NodeState", message: noTarget };
}

export function addressesOf(nodes: readonly KubernetesObject[]): Map<string, string> {
  const addresses = new Map<string, string>();
  for (const { metadata, status } of nodes) {
    const list = looseList(looseFields<NodeStatus>(status).addresses);
    const found = list.find(({ type }) => type === "InternalIP");
    const address = looseText(found?.address);
    if (address !== "") addresses.set(metadata.name, address);
  }
  return addresses;
}

function amountsOf(amounts: Amounts): TaskRequests {
  return { memoryBytes: amounts.get("memory") ?? 0, cpuMillicores: amounts.get("cpu") ?? 0 };
}

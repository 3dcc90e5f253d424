import { isStoreError, KINDS, nodeView } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import type { NetworkSite, Site } from "@isochrone/lab";
import { CommandError } from "../errors.ts";

/** Set by KWOK on simulated nodes. */
const FAKE_ANNOTATION = "kwok.x-k8s.io/node";
const WRONG_USAGE = { exitCode: 2 } as const;
export const MIN_NODES = 2;
export const MAX_NODES = 16;

export type FakeNode = NetworkSite & Site;

/** Sorted by name. Throws CommandError unless there are 2 to 16 simulated nodes: real ones have kubelets. */
export async function fakeNodes(store: ClusterStore): Promise<readonly FakeNode[]> {
  const { items } = await listed(store);
  const real = items.find(({ metadata }) => metadata.annotations?.[FAKE_ANNOTATION] === undefined);
  if (real !== undefined)
    throw new CommandError(
      `with --kubeconfig every node must be simulated (annotation ${FAKE_ANNOTATION}: fake), node ${real.metadata.name} is not; on a real cluster install the chart`,
      WRONG_USAGE,
    );
  if (items.length < MIN_NODES || items.length > MAX_NODES)
    throw new CommandError(
      `with --kubeconfig the cluster must have ${MIN_NODES} to ${MAX_NODES} nodes, got ${items.length}`,
      WRONG_USAGE,
    );
  return items.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)).map(siteOf);
}

async function listed(store: ClusterStore): Promise<{ readonly items: readonly KubernetesObject[] }> {
  try {
    return await store.list(KINDS.node);
  } catch (error) {
    if (isStoreError(error, "unavailable") || isStoreError(error, "unauthorized"))
      throw new CommandError(`the cluster of --kubeconfig must answer: ${error.message}`, { cause: error });
    throw error;
  }
}

function siteOf(node: KubernetesObject, row: number): FakeNode {
  const { name, region, zone, allocatableCpuMillicores, allocatableMemoryBytes } = nodeView(node);
  return {
    name,
    row,
    region: region ?? "unknown",
    zone: zone ?? region ?? "unknown",
    cpuMillicores: allocatableCpuMillicores ?? 0,
    memoryBytes: allocatableMemoryBytes ?? 0,
  };
}

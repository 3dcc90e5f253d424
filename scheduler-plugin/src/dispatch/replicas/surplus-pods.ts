// Chooses the pod to delete when a workload shrinks. ReplicaSets delete the lowest deletion cost first.
import { KINDS, isStoreError } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { nodeOf } from "./workload-pods.ts";

export const DELETION_COST = "controller.kubernetes.io/pod-deletion-cost";
/** Annotation of a pod: its deletion cost is that of a replica too many. */
const SURPLUS = "isochrone.dev/surplus";
/** Annotation of a pod: the deletion cost that it has by how much it would be missed. */
export const OWN_COST = "isochrone.dev/deletion-cost";
/** Below 0, the cost of pods without the annotation. */
const COST = "-100";

export const DELETION_COST_ANNOTATIONS: readonly string[] = [DELETION_COST, SURPLUS, OWN_COST];

export function isMarked({ metadata: { annotations = {} } }: KubernetesObject): boolean {
  return annotations[SURPLUS] !== undefined;
}

export function hasForeignCost(pod: KubernetesObject): boolean {
  const { [DELETION_COST]: cost, [OWN_COST]: own } = pod.metadata.annotations ?? {};
  return cost !== undefined && cost !== own && !isMarked(pod);
}

export async function markSurplus(store: ClusterStore, pod: KubernetesObject): Promise<void> {
  if (!isMarked(pod)) await annotate(store, pod, { [DELETION_COST]: COST, [SURPLUS]: "true" });
}

export async function unmarkSurplus(store: ClusterStore, pod: KubernetesObject): Promise<void> {
  try {
    await annotate(store, pod, { [DELETION_COST]: null, [SURPLUS]: null });
  } catch (error) {
    if (!isStoreError(error, "not_found")) throw error;
  }
}

async function annotate(
  store: ClusterStore,
  { metadata: { namespace = "default", name, uid } }: KubernetesObject,
  annotations: Readonly<Record<string, string | null>>,
): Promise<void> {
  await store.patch(
    { ...KINDS.pod, namespace, name },
    { metadata: { annotations, ...(uid === undefined ? {} : { uid }) } },
  );
}

interface GoingPods {
  readonly pods: readonly KubernetesObject[];
  readonly zoneOf: (pod: KubernetesObject) => string | null;
  readonly zones: readonly string[];
  /** The remaining pods must keep this many nodes, if they use that many now. */
  readonly minNodes: number;
}

/** Chooses pods of these zones, from nodes with most replicas. Fewer if the others need their nodes. */
export function goingPods({ pods, zoneOf, zones, minNodes }: GoingPods): KubernetesObject[] {
  let left = [...pods];
  const going: KubernetesObject[] = [];
  const least = Math.min(minNodes, nodesOf(left).size);
  for (const zone of zones) {
    const onNode = nodesOf(left);
    const count = (pod: KubernetesObject): number => onNode.get(nodeOf(pod) ?? "") ?? 0;
    const [next] = left
      .filter((pod) => zoneOf(pod) === zone && (count(pod) > 1 || onNode.size > least))
      .sort((a, b) => Number(isMarked(b)) - Number(isMarked(a)) || count(b) - count(a) || newestFirst(a, b));
    if (next === undefined) continue;
    going.push(next);
    left = left.filter((pod) => pod !== next);
  }
  return going;
}

function nodesOf(pods: readonly KubernetesObject[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const pod of pods) {
    const node = nodeOf(pod);
    if (node !== null) counts.set(node, (counts.get(node) ?? 0) + 1);
  }
  return counts;
}

function newestFirst(a: KubernetesObject, b: KubernetesObject): number {
  const [first = "", second = ""] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  if (first !== second) return first < second ? 1 : -1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

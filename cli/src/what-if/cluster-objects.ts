// The objects used by kube-scheduler's decisions, from a real or the embedded cluster.
import { KINDS, withoutPlannedNodes } from "@isochrone/kubernetes/basics";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { LabClient, LabClientError, readControlToken } from "@isochrone/lab/client";
import { recordOf } from "@isochrone/primitives";
import { isLoopback } from "@isochrone/runtime/basics";

export interface ClusterSource {
  readonly kubeconfig?: string;
  /** Kubeconfig context. @default the current one */
  readonly context?: string;
  /** Controls of the embedded cluster, used unless a cluster is named; undefined: the server has none. */
  readonly lab?: string | undefined;
  /** Address of the graph API. */
  readonly server: string;
}

const ALL = {
  nodes: KINDS.node,
  pods: KINDS.pod,
  namespaces: KINDS.namespace,
  persistentVolumes: KINDS.persistentVolume,
  persistentVolumeClaims: KINDS.persistentVolumeClaim,
  csiNodes: KINDS.csiNode,
  volumeAttachments: KINDS.volumeAttachment,
  services: KINDS.service,
  replicaSets: KINDS.replicaSet,
  deployments: KINDS.deployment,
  statefulSets: KINDS.statefulSet,
  disruptionBudgets: KINDS.podDisruptionBudget,
} as const;
type Name = keyof typeof ALL;

const FILTERED_BY = [
  "nodes",
  "pods",
  "namespaces",
  "persistentVolumes",
  "persistentVolumeClaims",
  "csiNodes",
  "volumeAttachments",
] as const;
export const MOVED_BY = [
  ...FILTERED_BY,
  "replicaSets",
  "deployments",
  "statefulSets",
  "disruptionBudgets",
] as const;
export const SCORED_BY = [...MOVED_BY, "services"] as const;

/** Reads the user's embedded cluster if no cluster is named, else an API server. */
export async function readCluster<K extends Name>(
  source: ClusterSource,
  names: readonly K[],
): Promise<Record<K, KubernetesObject[]>> {
  const { kubeconfig, context } = source;
  const lab = await embeddedLab(source);
  const embedded = lab && (await embeddedObjects(lab));
  if (embedded !== null)
    return recordOf(names, (name) => {
      const { apiVersion, kind } = ALL[name];
      return embedded
        .filter((object) => object.kind === kind && object.apiVersion === apiVersion)
        .map(withoutPlannedNodes);
    });
  const { openStore } = await import("../kubernetes.ts");
  const opened = openStore(kubeconfig, context);
  const { store } = opened;
  try {
    const lists = await Promise.all(names.map(async (name) => (await store.list(ALL[name])).items));
    return recordOf(names, (_, index) => lists[index]!.map(withoutPlannedNodes));
  } finally {
    await opened.close();
  }
}

/** Controls of the user's embedded cluster; null: a cluster is named, or none runs. */
export async function embeddedLab(source: ClusterSource): Promise<LabClient | null> {
  const { kubeconfig, context, lab } = source;
  const isNamed = [kubeconfig, context, process.env.KUBECONFIG || undefined].some((one) => one !== undefined);
  if (isNamed || lab === undefined || !isSameMachine(source.server, lab)) return null;
  const token = await readControlToken(lab, process.env);
  return token === null ? null : new LabClient(lab, { token });
}

function isSameMachine(server: string, lab: string): boolean {
  const [a, b] = [server, lab].map((address) => new URL(address).hostname.replaceAll(/^\[|\]$/g, ""));
  return a === b || (isLoopback(a!) && isLoopback(b!));
}

/** Null if it stopped answering or has its own API server. */
async function embeddedObjects(lab: LabClient): Promise<readonly KubernetesObject[] | null> {
  try {
    return (await lab.objects()).items;
  } catch (error) {
    if (error instanceof LabClientError && (error.status === null || error.status === 404)) return null;
    throw error;
  }
}

// The objects by which kube-scheduler would judge, of a cluster or of the embedded one.
import { KINDS, withoutPlannedNodes } from "@isochrone/kubernetes/basics";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { LabClient, LabClientError, readControlToken } from "@isochrone/lab/client";
import { recordOf } from "@isochrone/primitives";
import { isLoopback } from "@isochrone/runtime/basics";

export interface ClusterSource {
  readonly kubeconfig?: string;
  /** Of the kubeconfig. @default its current one */
  readonly context?: string;
  /** Controls of the embedded cluster; used unless a cluster is named. Undefined: the server isn't one. */
  readonly lab?: string | undefined;
  /** Of the graph API. */
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

/** What kube-scheduler's filters look at. */
const FILTERED_BY = [
  "nodes",
  "pods",
  "namespaces",
  "persistentVolumes",
  "persistentVolumeClaims",
  "csiNodes",
  "volumeAttachments",
] as const;
/** And what says whether a pod may be moved. */
export const MOVED_BY = [
  ...FILTERED_BY,
  "replicaSets",
  "deployments",
  "statefulSets",
  "disruptionBudgets",
] as const;
/** And its scores besides. */
export const SCORED_BY = [...MOVED_BY, "services"] as const;

/** Of the embedded cluster where no cluster is named and this user runs one, else of an API server. */
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

/** The controls of the embedded cluster of this user; null: a cluster is named, or there is none. */
export async function embeddedLab(source: ClusterSource): Promise<LabClient | null> {
  const { kubeconfig, context, lab } = source;
  const isNamed = [kubeconfig, context, process.env.KUBECONFIG || undefined].some((one) => one !== undefined);
  if (isNamed || lab === undefined || !isSameMachine(source.server, lab)) return null;
  const token = await readControlToken(lab, process.env);
  return token === null ? null : new LabClient(lab, { token });
}

/** The page and the controls of an embedded cluster are on the same machine. */
function isSameMachine(server: string, lab: string): boolean {
  const [a, b] = [server, lab].map((address) => new URL(address).hostname.replaceAll(/^\[|\]$/g, ""));
  return a === b || (isLoopback(a!) && isLoopback(b!));
}

/** null where it doesn't answer any more, or has an API server of its own. */
async function embeddedObjects(lab: LabClient): Promise<readonly KubernetesObject[] | null> {
  try {
    return (await lab.objects()).items;
  } catch (error) {
    if (error instanceof LabClientError && (error.status === null || error.status === 404)) return null;
    throw error;
  }
}

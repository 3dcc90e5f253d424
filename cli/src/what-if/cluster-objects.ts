// The objects by which kube-scheduler would judge, of a cluster or of the embedded one.
import type { KubernetesObject } from "@isochrone/kubernetes";
import { LabClient, LabClientError, readControlToken } from "@isochrone/lab/client";
import { isLoopback } from "@isochrone/runtime/basics";
import { objectsByKind, SCHEDULING_KINDS, type SchedulingKind } from "../score/scheduling-objects.ts";

export interface ClusterSource {
  readonly kubeconfig?: string;
  /** Of the kubeconfig. @default its current one */
  readonly context?: string;
  /** Controls of the embedded cluster; used unless a cluster is named. Undefined: the server isn't one. */
  readonly lab?: string | undefined;
  /** Of the graph API. */
  readonly server: string;
}

/** Of the embedded cluster where no cluster is named and this user runs one, else of an API server. */
export async function readCluster<K extends SchedulingKind>(
  source: ClusterSource,
  names: readonly K[],
): Promise<Record<K, KubernetesObject[]>> {
  const { kubeconfig, context } = source;
  const lab = await embeddedLab(source);
  const embedded = lab && (await embeddedObjects(lab));
  if (embedded !== null) return objectsByKind(embedded, names);
  const { openStore } = await import("../kubernetes.ts");
  const opened = openStore(kubeconfig, context);
  const { store } = opened;
  try {
    const lists = await Promise.all(names.map((name) => store.list(SCHEDULING_KINDS[name])));
    return objectsByKind(
      lists.flatMap(({ items }) => items),
      names,
    );
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

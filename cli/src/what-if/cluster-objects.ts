import type { KubernetesObject } from "@isochrone/kubernetes";
import { LabClient, LabClientError, readControlToken } from "@isochrone/lab/client";
import { isLoopback } from "@isochrone/runtime/basics";
import { objectsByKind, SCHEDULING_KINDS, type SchedulingKind } from "../score/scheduling-objects.ts";

export interface ClusterSource {
  readonly kubeconfig?: string;
  /** Kubeconfig context. @default the current one */
  readonly context?: string;
  /** Controls of the embedded cluster, used unless a cluster is named; undefined: the server has none. */
  readonly lab?: string | undefined;
  readonly server: string;
}

/** Reads the user's embedded cluster if no cluster is named, else an API server. */
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

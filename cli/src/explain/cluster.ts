import { KINDS } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { CommandError } from "../errors.ts";
import { openStore } from "../kubernetes.ts";
import { webhookSentence } from "./webhook-answer.ts";

export { podReport } from "./pod-report.ts";

interface PodAddress {
  readonly namespace: string;
  readonly kubeconfig?: string;
  /** Kubeconfig context. @default the current one */
  readonly context?: string;
}

/** Throws CommandError if the pod doesn't exist. */
export async function readPod(
  name: string,
  { namespace, kubeconfig, context }: PodAddress,
): Promise<{ readonly pod: KubernetesObject; readonly webhook: string | null }> {
  const opened = openStore(kubeconfig, context);
  try {
    const pod = await opened.store.get({ ...KINDS.pod, namespace, name });
    if (pod === null) {
      const fields = { "metadata.name": name };
      const { items } = await opened.store.list(KINDS.pod, { fields });
      const found = items
        .map(({ metadata }) => metadata.namespace ?? "")
        .toSorted((a, b) => a.localeCompare(b));
      const step =
        found.length === 0 ? "" : `; it is in namespace ${found.join(" and ")}: give -n ${found[0]}`;
      throw new CommandError(
        `there is no pod ${JSON.stringify(name)} in namespace ${JSON.stringify(namespace)} of the cluster${step}`,
      );
    }
    return { pod, webhook: await webhookSentence(opened.store, pod) };
  } finally {
    await opened.close();
  }
}

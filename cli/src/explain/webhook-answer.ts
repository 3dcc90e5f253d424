import { isStoreError, KINDS, LABELS, WEBHOOK_ANSWER, WEBHOOK_CONFIGURATION } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject, ObjectRef } from "@isochrone/kubernetes";
import { isUnanswered, rulesOfRegistration } from "@isochrone/scheduler-plugin/webhook-rules";

const SENTENCES: Readonly<Record<string, string>> = {
  no_planner:
    "The webhook was asked about it while no planner was alive: it got no gate, and no plan was made for it.",
  resource:
    "The webhook was asked about it while no planner was alive: no plan was made for it, and it asks for the managed resource instead.",
  gang: "It is one of a gang, a group of pods that is scheduled as a whole or not at all: no plan was made for it, and it waited at no gate.",
};
const UNANSWERED =
  "It asks for the gate, and was created without the webhook's answer: the webhook was slow or unreachable and the API server went on without it, or the pod is older than the wish. No plan was made for it; a replacement would be planned.";

/** Null: nothing to report, or no permission to read. Rejects with other StoreErrors. */
export async function webhookSentence(
  store: Pick<ClusterStore, "get">,
  pod: KubernetesObject,
): Promise<string | null> {
  const answer = pod.metadata.annotations?.[WEBHOOK_ANSWER];
  if (answer !== undefined) return SENTENCES[answer] ?? null;
  const read = async (ref: ObjectRef): Promise<KubernetesObject | null> => {
    try {
      return await store.get(ref);
    } catch (error) {
      if (isStoreError(error, "forbidden")) return null;
      throw error;
    }
  };
  const registration = await read({ ...KINDS.mutatingWebhookConfiguration, name: WEBHOOK_CONFIGURATION });
  if (registration === null) return null;
  const { namespace: name = "default", labels } = pod.metadata;
  const group = labels?.[LABELS.appGroup];
  const appGroup =
    group === undefined ? null : await read({ ...KINDS.appGroup, namespace: name, name: group });
  const namespace = await read({ ...KINDS.namespace, name });
  return isUnanswered({ pod, namespace, appGroup }, rulesOfRegistration(registration)) ? UNANSWERED : null;
}

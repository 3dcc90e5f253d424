// Names that the services share about gated pods, and how a gate is opened. kube-scheduler leaves a pod alone
// while it has a gate, and never removes one: whoever sets it must see to it that somebody opens it.
import { isStoreError } from "./errors.ts";
import { looseFields, looseList } from "@isochrone/primitives";
import { KINDS, type PodSpec } from "../kinds.ts";
import type { ClusterStore, JsonPatchOperation, KubernetesObject } from "./port.ts";

/** The scheduling gate of pods that the planner places. */
export const PLACEMENT_GATE = "isochrone.dev/placement";

/** Scheduling gate of pods of a StreamJob: their flows have no rules yet. */
export const STREAM_GATE = "isochrone.dev/stream";

/**
 * Label of namespaces, pods and AppGroups: whether new pods get the gate. The pod's own word counts most,
 * then its AppGroup's.
 */
export const PLACEMENT_LABEL = "isochrone.dev/placement";
export const PLACEMENT_ENABLED = "enabled";
export const PLACEMENT_DISABLED = "disabled";

/**
 * Label or annotation of pods and AppGroups: what is done with the AppGroup's minBandwidth. The first that
 * says anything counts.
 */
export const BANDWIDTH_KEY = "isochrone.dev/bandwidth";
export const BANDWIDTH_ANNOTATE = "annotate";

/**
 * A gate is opened so long after its pod's creation, whatever the planner does.
 * @default of gates.deadlineMs
 */
export const GATE_DEADLINE_MS = 60_000;

/**
 * Lease whose `spec.renewTime` the planner writes while it works; in the namespace of the scheduler-plugin.
 */
export const PLANNER_LEASE = "isochrone-planner";
/** How often the planner renews it. */
export const PLANNER_HEARTBEAT_MS = 3_000;
/** Without a renewal for so long no new pod gets the gate. */
export const PLANNER_HEARTBEAT_MAX_AGE_MS = 10_000;

/** MutatingWebhookConfiguration of the webhook that sets the gate. */
export const WEBHOOK_CONFIGURATION = "isochrone-placement";
/**
 * Annotation of pods that ask for the gate: what the webhook answered when the pod was created (planned: it
 * got its nodes instead; gated, no_planner, resource; already_gated: the manifest had the gate; gang: it is
 * left to whoever schedules its group). Without it, the pod was created without an answer.
 */
export const WEBHOOK_ANSWER = "isochrone.dev/webhook";
/** Secret of the webhook's certificates, beside that Lease. */
export const WEBHOOK_SECRET = "isochrone-webhook";
/**
 * Annotation of the planner's Lease, RFC 3339: the webhook was taken away by a person or by the
 * uninstallation then. For a while it sets no gates and does not register itself again.
 */
export const WEBHOOK_REMOVED_AT = "isochrone.dev/webhook-removed-at";

/** Names of the pod's scheduling gates, in order; an entry without a name is "". */
export function gatesOf({ spec }: KubernetesObject): string[] {
  return looseList(looseFields<PodSpec>(spec).schedulingGates).map(({ name }) =>
    typeof name === "string" ? name : "",
  );
}

/** Whether the pod waits for us, and perhaps for others too. */
export function hasOurGate(pod: KubernetesObject): boolean {
  return gatesOf(pod).includes(PLACEMENT_GATE);
}

/** Whether the pod waits for nobody but us. */
export function isOnlyOurGate(pod: KubernetesObject): boolean {
  const gates = gatesOf(pod);
  return gates.length > 0 && gates.every((gate) => gate === PLACEMENT_GATE);
}

/**
 * The JSON patch that takes these gates away and leaves those of others. It is of this pod only, not of one
 * that came by its name since, and fails (`conflict`, or `invalid` when the list became shorter) when others
 * changed the gates in between; any other change doesn't matter. Null: the pod has none of them.
 */
export function jsonPatchOpeningGate(
  pod: KubernetesObject,
  gates: readonly string[] = [PLACEMENT_GATE],
): JsonPatchOperation[] | null {
  // From the end: what is removed moves those behind it.
  const found = [...gatesOf(pod).entries()].filter(([, name]) => gates.includes(name)).reverse();
  if (found.length === 0) return null;
  const { uid } = pod.metadata;
  return [
    ...(uid === undefined ? [] : [{ op: "test" as const, path: "/metadata/uid", value: uid }]),
    ...found.flatMap(([index, value]): JsonPatchOperation[] => {
      const path = `/spec/schedulingGates/${index}`;
      return [
        { op: "test", path: `${path}/name`, value },
        { op: "remove", path },
      ];
    }),
  ];
}

/** `absent`: there was no gate of ours any more. `gone`: neither was the pod. */
export type GateOpening = "opened" | "absent" | "gone";

/**
 * Takes our gate from the pod; a second time when others changed the gates in between. Throws the store's
 * errors, `conflict` after the last attempt.
 */
export async function openGate(
  store: Pick<ClusterStore, "get" | "jsonPatch">,
  pod: KubernetesObject,
  fieldManager?: string,
): Promise<GateOpening> {
  const { namespace = "default", name, uid } = pod.metadata;
  const ref = { ...KINDS.pod, namespace, name };
  const options = fieldManager === undefined ? {} : { fieldManager };
  let current: KubernetesObject = pod;
  for (let attempt = 1; ; attempt++) {
    const operations = jsonPatchOpeningGate(current);
    if (operations === null) return "absent";
    try {
      await store.jsonPatch(ref, operations, options);
      return "opened";
    } catch (error) {
      if (isStoreError(error, "not_found")) return "gone";
      const isOutdated = isStoreError(error, "conflict") || isStoreError(error, "invalid");
      if (!isOutdated || attempt === OPEN_ATTEMPTS) throw error;
    }
    const found = await store.get(ref);
    if (found === null || (uid !== undefined && found.metadata.uid !== uid)) return "gone";
    current = found;
  }
}

const OPEN_ATTEMPTS = 3;

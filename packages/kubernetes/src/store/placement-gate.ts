// kube-scheduler ignores a gated pod and never removes a gate: its setter must ensure that someone does.
import { isStoreError } from "./errors.ts";
import { looseFields, looseList } from "@isochrone/primitives";
import { KINDS, type PodSpec } from "../kinds.ts";
import type { ClusterStore, JsonPatchOperation, KubernetesObject } from "./port.ts";

/** Scheduling gate of pods that the planner places. */
export const PLACEMENT_GATE = "isochrone.dev/placement";

/** Scheduling gate of a StreamJob's pods until their flows have rules. */
export const STREAM_GATE = "isochrone.dev/stream";

/**
 * Label of namespaces, pods and AppGroups: whether new pods get the gate. The pod's label wins, then its
 * AppGroup's.
 */
export const PLACEMENT_LABEL = "isochrone.dev/placement";
export const PLACEMENT_ENABLED = "enabled";
export const PLACEMENT_DISABLED = "disabled";

/**
 * Label or annotation of pods and AppGroups: how to use the AppGroup's minBandwidth. The first value found
 * wins.
 */
export const BANDWIDTH_KEY = "isochrone.dev/bandwidth";
export const BANDWIDTH_ANNOTATE = "annotate";

/** Maximum time that a pod stays gated, whatever the planner does. @default of gates.deadlineMs */
export const GATE_DEADLINE_MS = 60_000;

/** Lease whose `spec.renewTime` is the planner's heartbeat; in the scheduler-plugin's namespace. */
export const PLANNER_LEASE = "isochrone-planner";
export const PLANNER_HEARTBEAT_MS = 3_000;
/** Without a heartbeat for this long, new pods get no gate. */
export const PLANNER_HEARTBEAT_MAX_AGE_MS = 10_000;

/** MutatingWebhookConfiguration that sets the gate. */
export const WEBHOOK_CONFIGURATION = "isochrone-placement";
/**
 * Annotation of a pod that asked for the gate: the webhook's answer at its creation (planned: it got its
 * nodes instead; gated, no_planner, resource; already_gated: the manifest had the gate; gang: left to its
 * group's scheduler). Absent: there was no answer.
 */
export const WEBHOOK_ANSWER = "isochrone.dev/webhook";
export const WEBHOOK_SECRET = "isochrone-webhook";
/**
 * Annotation of the planner's Lease: time (RFC 3339) when a user or the uninstallation removed the webhook.
 * For a while it sets no gates and does not register again.
 */
export const WEBHOOK_REMOVED_AT = "isochrone.dev/webhook-removed-at";

export function gatesOf({ spec }: KubernetesObject): string[] {
  return looseList(looseFields<PodSpec>(spec).schedulingGates).map(({ name }) =>
    typeof name === "string" ? name : "",
  );
}

export function hasOurGate(pod: KubernetesObject): boolean {
  return gatesOf(pod).includes(PLACEMENT_GATE);
}

export function isOnlyOurGate(pod: KubernetesObject): boolean {
  const gates = gatesOf(pod);
  return gates.length > 0 && gates.every((gate) => gate === PLACEMENT_GATE);
}

/**
 * JSON patch that removes these gates and keeps others. Fails with `conflict`, or `invalid` if the list
 * became shorter, if the gates changed or the pod was replaced. Null: the pod has none of them.
 */
export function jsonPatchOpeningGate(
  pod: KubernetesObject,
  gates: readonly string[] = [PLACEMENT_GATE],
): JsonPatchOperation[] | null {
  // From the end: removing shifts later indices.
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

/** `absent`: our gate was gone. `gone`: the pod was gone. */
export type GateOpening = "opened" | "absent" | "gone";

/** Opens our gate. Retries if others changed the gates. Throws the store's errors. */
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

import { conditionsOf, pickedFields } from "@isochrone/kubernetes/basics";
import type { KubernetesObject, PodSpec, PodStatus } from "@isochrone/kubernetes";
import { type LooseFields, looseFields, looseList } from "@isochrone/primitives";
import type { Standing } from "../domain/decision-recorder.ts";
import { identifyPod, POD_LABELS } from "../domain/pod.ts";
import type { PodIdentity } from "../domain/pod.ts";

interface Placement {
  readonly node: string;
  /** False for a nomination: it lasts until changed or carried out. */
  readonly bound: boolean;
  /** Time of the binding or nomination, wall-clock ms; null if the object doesn't say. */
  readonly sinceMs: number | null;
}

/** True if the pod has finished or is being deleted: it will take no place. */
export function isGone(pod: KubernetesObject): boolean {
  const phase = looseFields<PodStatus>(pod.status).phase;
  return phase === "Succeeded" || phase === "Failed" || pod.metadata.deletionTimestamp !== undefined;
}

export function isUnschedulable(pod: KubernetesObject): boolean {
  return conditionsOf(pod).some(
    ({ type, status, reason }) => type === "PodScheduled" && status === "False" && reason === "Unschedulable",
  );
}

export function placementOf(pod: KubernetesObject): Placement | null {
  const node = textOf(looseFields<PodSpec>(pod.spec).nodeName);
  const nominated = textOf(looseFields<PodStatus>(pod.status).nominatedNodeName);
  if (node === null) return nominated === null ? null : { node: nominated, bound: false, sinceMs: null };
  const scheduled = conditionsOf(pod).find(({ type }) => type === "PodScheduled");
  const sinceMs = Date.parse(scheduled?.lastTransitionTime ?? "");
  return { node, bound: true, sinceMs: Number.isNaN(sinceMs) ? null : sinceMs };
}

/** Keeps the fields that placing and AppGroups need: a tenth of a real pod. */
export function trimmedPod(pod: KubernetesObject): KubernetesObject {
  const { metadata, spec = {}, status = {} } = pod;
  const { annotations: _annotations, finalizers: _finalizers, labels = {}, ...kept } = metadata;
  return {
    apiVersion: pod.apiVersion,
    kind: pod.kind,
    metadata: { ...kept, labels: pickedFields(labels, POD_LABELS) },
    spec: {
      ...pickedFields(spec, ["nodeName"]),
      containers: trimmedContainers(looseFields<PodSpec>(spec).containers),
    },
    status: {
      ...pickedFields(status, ["phase", "nominatedNodeName"]),
      conditions: conditionsOf(pod).filter(({ type }) => type === "PodScheduled"),
    },
  };
}

/** Compares the decision's pod with the cluster. `shown`: the pod of that name, or null. */
export function standingOf(shown: KubernetesObject | null, { uid }: PodIdentity): Standing {
  if (shown === null || shown.metadata.uid !== uid) return { kind: "unseen" };
  if (isGone(shown) || placementOf(shown)?.bound === true) return { kind: "settled" };
  return { kind: "pending", identity: identityOf(shown) };
}

/** Identities are computed when the watch reports a pod, not while kube-scheduler waits. */
const identities = new WeakMap<KubernetesObject, PodIdentity>();

/** The pod must come from the watch: its objects never change. */
export function identityOf(pod: KubernetesObject): PodIdentity {
  let identity = identities.get(pod);
  if (identity === undefined) identities.set(pod, (identity = identifyPod(pod)));
  return identity;
}

function trimmedContainers(containers: unknown): { resources: LooseFields }[] {
  return looseList<Record<"resources", unknown>>(containers).map(({ resources }) => ({
    resources: { requests: {}, ...keptResources(resources) },
  }));
}

export function keptResources(resources: unknown): LooseFields {
  const fields = looseFields<Record<"limits" | "requests", unknown>>(resources);
  const { cpu } = looseFields<Record<"cpu", unknown>>(fields.limits);
  return { ...pickedFields(fields, ["requests"]), ...(cpu === undefined ? {} : { limits: { cpu } }) };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

import type { Metadata, OwnerReference } from "./fields.ts";
import { labelOf, labelsOf, namespaceOf, record, records, text, type ApiObject } from "./json.ts";

const TEMPLATE_HASH_LABEL = "pod-template-hash";

/**
 * The name of what the pod is a replica of: its controller's, a Deployment's where that is a ReplicaSet of
 * one; its own without.
 */
export function workloadName(pod: ApiObject): string {
  const controller = controllerOf(pod);
  if (controller === undefined) return pod.metadata.name;
  const name = text(controller.name);
  const hash = labelOf(labelsOf(pod), TEMPLATE_HASH_LABEL) ?? "";
  return controller.kind === "ReplicaSet" && hash !== "" && name.endsWith(`-${hash}`)
    ? name.slice(0, -hash.length - 1)
    : name;
}

/**
 * The same for pods of one controller: of a Deployment's generations each is by itself. null without a
 * controller.
 */
export function controllerKey(pod: ApiObject): string | null {
  const controller = controllerOf(pod);
  if (controller === undefined) return null;
  return JSON.stringify([namespaceOf(pod), text(controller.kind), text(controller.name)]);
}

export function controllerOf(pod: ApiObject): OwnerReference | undefined {
  return records(record<Metadata>(pod.metadata).ownerReferences).find(
    ({ controller }) => controller === true,
  );
}

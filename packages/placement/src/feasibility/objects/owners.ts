import { controlledWorkload } from "@isochrone/primitives/workload-name";
import type { Metadata, OwnerReference } from "./fields.ts";
import { labelsOf, namespaceOf, record, records, text, type ApiObject } from "./json.ts";

/** The name of what the pod is a replica of; its own without a controller. */
export function workloadName(pod: ApiObject): string {
  const controller = controllerOf(pod);
  if (controller === undefined) return pod.metadata.name;
  const owner = { kind: text(controller.kind), name: text(controller.name) };
  return controlledWorkload({ name: pod.metadata.name, labels: labelsOf(pod) }, owner).name;
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

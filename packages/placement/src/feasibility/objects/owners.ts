import { controlledWorkload } from "@isochrone/primitives/workload-name";
import type { Metadata, OwnerReference } from "./fields.ts";
import { labelsOf, namespaceOf, record, records, text, type ApiObject } from "./json.ts";

export function workloadName(pod: ApiObject): string {
  const controller = controllerOf(pod);
  if (controller === undefined) return pod.metadata.name;
  const owner = { kind: text(controller.kind), name: text(controller.name) };
  return controlledWorkload({ name: pod.metadata.name, labels: labelsOf(pod) }, owner).name;
}

/** Equal for pods of one controller, so generations of a Deployment differ. Null: no controller. */
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

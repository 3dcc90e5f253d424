import { namespaceOf, record, records, text, type ApiObject, type Json } from "./json.ts";

/**
 * The name of what the pod is a replica of: its controller's, a Deployment's where that is a ReplicaSet of
 * one; its own without.
 */
export function workloadName(pod: ApiObject): string {
  const controller = controllerOf(pod);
  if (controller === undefined) return pod.metadata.name;
  const name = text(controller["name"]);
  const hash = text(record(record(pod.metadata)["labels"])["pod-template-hash"]);
  return controller["kind"] === "ReplicaSet" && hash !== "" && name.endsWith(`-${hash}`)
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
  return JSON.stringify([namespaceOf(pod), text(controller["kind"]), text(controller["name"])]);
}

function controllerOf(pod: ApiObject): Json | undefined {
  return records(record(pod.metadata)["ownerReferences"]).find(({ controller }) => controller === true);
}

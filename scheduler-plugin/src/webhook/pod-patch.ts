// What the webhook changes of a pod, as a JSON patch. It only adds, and what the pod has already stays: asked
// twice, it changes nothing more.
import { gatesOf, PLACEMENT_GATE } from "@isochrone/kubernetes";
import { looseFields, looseList } from "@isochrone/primitives";
import type { JsonPatchOperation, KubernetesObject, PodSpec } from "@isochrone/kubernetes";

/** Adds our gate behind those of others. */
export function gatePatch(pod: KubernetesObject): JsonPatchOperation[] {
  const gate = { name: PLACEMENT_GATE };
  const gates = gatesOf(pod);
  if (gates.includes(PLACEMENT_GATE)) return [];
  return gates.length > 0
    ? [{ op: "add", path: "/spec/schedulingGates/-", value: gate }]
    : [{ op: "add", path: "/spec/schedulingGates", value: [gate] }];
}

/** Adds the annotations that the pod hasn't yet: the word of whoever made it counts. */
export function annotationPatch(
  pod: KubernetesObject,
  annotations: Readonly<Record<string, string>>,
): JsonPatchOperation[] {
  const own = pod.metadata.annotations;
  const missing = Object.entries(annotations).filter(([name]) => !Object.hasOwn(looseFields(own), name));
  if (missing.length === 0) return [];
  if (looseFields(own) !== own)
    return [{ op: "add", path: "/metadata/annotations", value: Object.fromEntries(missing) }];
  return missing.map(([name, value]) => ({
    op: "add",
    path: `/metadata/annotations/${escaped(name)}`,
    value,
  }));
}

/**
 * Has the pod's first container ask for one of an extended resource: limit and request, which the API server
 * wants to be equal. Nothing when any container asks for it already.
 */
export function resourcePatch(pod: KubernetesObject, resource: string): JsonPatchOperation[] {
  const spec = looseFields<PodSpec>(pod.spec);
  const containers = looseList(spec.containers);
  const [first] = containers;
  const all = [...containers, ...looseList(spec.initContainers)];
  if (first === undefined || all.some((container) => asksFor(container, resource))) return [];
  const path = "/spec/containers/0/resources";
  const amount = { [resource]: "1" };
  const { resources } = first;
  const fields = looseFields(resources);
  if (fields !== resources) return [{ op: "add", path, value: { limits: amount, requests: amount } }];
  return (["limits", "requests"] as const).map((part) =>
    looseFields(fields[part]) === fields[part]
      ? { op: "add", path: `${path}/${part}/${escaped(resource)}`, value: "1" }
      : { op: "add", path: `${path}/${part}`, value: amount },
  );
}

function asksFor({ resources }: Readonly<Record<string, unknown>>, resource: string): boolean {
  const { limits, requests } = looseFields(resources);
  return [limits, requests].some((part) => Object.hasOwn(looseFields(part), resource));
}

/** As a part of a JSON pointer. */
function escaped(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

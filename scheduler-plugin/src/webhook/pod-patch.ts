// The webhook's JSON patches of pods. They only add, and are idempotent.
import { gatesOf, PLACEMENT_GATE } from "@isochrone/kubernetes";
import { looseFields, looseList } from "@isochrone/primitives";
import type { JsonPatchOperation, KubernetesObject, PodSpec } from "@isochrone/kubernetes";

export function gatePatch(pod: KubernetesObject): JsonPatchOperation[] {
  const gate = { name: PLACEMENT_GATE };
  const gates = gatesOf(pod);
  if (gates.includes(PLACEMENT_GATE)) return [];
  return gates.length > 0
    ? [{ op: "add", path: "/spec/schedulingGates/-", value: gate }]
    : [{ op: "add", path: "/spec/schedulingGates", value: [gate] }];
}

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
 * Makes the first container request one of an extended resource (limit = request, as the API server
 * requires). Empty if a container already requests it.
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

function escaped(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

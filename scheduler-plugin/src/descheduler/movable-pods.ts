// The fields kept per pod for moves: where it may run and whether it may be moved, without its containers'
// programs. Sufficient for the planner and the other parts.
import {
  conditionsOf,
  hasOurGate,
  pickedFields,
  withoutLastApplied,
  withoutPlannedNodes,
} from "@isochrone/kubernetes";
import { looseList } from "@isochrone/primitives";
import type { KubernetesObject, LooseFields } from "@isochrone/kubernetes";

/** Commands and probes of containers don't affect moves. */
const CONTAINER_FIELDS = ["name", "resources", "restartPolicy", "ports"] as const;

/** A gated pod is planned by its whole spec. */
export function movablePod(pod: KubernetesObject): KubernetesObject {
  if (hasOurGate(pod)) return pod;
  const { apiVersion, kind, metadata, spec = {}, status = {} } = withoutPlannedNodes(pod);
  return {
    apiVersion,
    kind,
    metadata: withoutLastApplied(metadata),
    spec: { ...spec, ...containersOf(spec, "containers"), ...containersOf(spec, "initContainers") },
    status: { ...pickedFields(status, ["phase", "nominatedNodeName"]), conditions: keptConditions(pod) },
  };
}

function containersOf(spec: LooseFields, name: string): LooseFields {
  if (spec[name] === undefined) return {};
  return { [name]: looseList(spec[name]).map((container) => pickedFields(container, CONTAINER_FIELDS)) };
}

function keptConditions(pod: KubernetesObject): LooseFields[] {
  return conditionsOf(pod).flatMap((condition): LooseFields[] => {
    const { type, status } = condition;
    if (type === "PodScheduled") return [{ ...condition }];
    return type === "Ready" ? [{ type, status }] : [];
  });
}

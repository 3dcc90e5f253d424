// What is kept of each pod when pods are moved: all that decides where it may run and whether it may be
// moved, without what its containers do. The planner and the other parts find in it what they need.
import {
  conditionsOf,
  hasOurGate,
  pickedFields,
  withoutLastApplied,
  withoutPlannedNodes,
} from "@isochrone/kubernetes";
import { looseList } from "@isochrone/primitives";
import type { KubernetesObject, LooseFields } from "@isochrone/kubernetes";

/** What containers do, and how they are watched, moves nobody. */
const CONTAINER_FIELDS = ["name", "resources", "restartPolicy", "ports"] as const;

/** A gated pod is planned by its whole spec. */
export function movablePod(pod: KubernetesObject): KubernetesObject {
  if (hasOurGate(pod)) return pod;
  // Its replacement may go to other nodes than those that a plan bound it to.
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

/** When and why not it was scheduled; of being ready only whether. */
function keptConditions(pod: KubernetesObject): LooseFields[] {
  return conditionsOf(pod).flatMap((condition): LooseFields[] => {
    const { type, status } = condition;
    if (type === "PodScheduled") return [{ ...condition }];
    return type === "Ready" ? [{ type, status }] : [];
  });
}

// What is kept of each pod when proposals are made: what the planner keeps says for whom a placed pod keeps a
// node closed, but not which other nodes would be open to the pod itself.
import { pickedFields, withoutPlannedNodes } from "@isochrone/kubernetes";
import { looseList, looseFields } from "@isochrone/primitives";
import type { KubernetesObject, LooseFields, PodSpec, PodVolume } from "@isochrone/kubernetes";
import { plannerPod } from "../planner/adapters/planner-pods.ts";

const SPEC = ["affinity", "nodeSelector", "tolerations", "topologySpreadConstraints", "resourceClaims"];
/** They are on every node, and in nearly every pod. */
const ANYWHERE = ["configMap", "downwardAPI", "emptyDir", "projected", "secret"];

export function runningPod(pod: KubernetesObject): KubernetesObject {
  const kept = plannerPod(pod);
  if (kept === pod) return pod;
  const { spec = {} } = withoutPlannedNodes(pod);
  const volumes = looseList<PodVolume>(looseFields<PodSpec>(spec).volumes).filter(
    (volume) => !ANYWHERE.some((kind) => kind in volume),
  );
  return {
    ...kept,
    spec: {
      ...kept.spec,
      ...(pickedFields(spec, SPEC) satisfies LooseFields),
      ...(volumes.length === 0 ? {} : { volumes }),
    },
  };
}

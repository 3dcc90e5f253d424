import { moveOwnerOf } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { KubernetesObject, PodSpec, PodStatus } from "@isochrone/kubernetes";

export function livePodsOf(controllerUid: string, pods: readonly KubernetesObject[]): KubernetesObject[] {
  return pods.filter(
    (pod) =>
      moveOwnerOf(pod)?.uid === controllerUid &&
      pod.metadata.deletionTimestamp === undefined &&
      !isFinished(pod),
  );
}

export function nodeOfPod({ spec }: KubernetesObject): string | null {
  const node = looseFields<PodSpec>(spec).nodeName;
  return typeof node === "string" && node !== "" ? node : null;
}

export function isFinished({ status }: KubernetesObject): boolean {
  const { phase } = looseFields<PodStatus>(status);
  return phase === "Succeeded" || phase === "Failed";
}

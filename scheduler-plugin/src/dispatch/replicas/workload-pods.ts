import { KINDS } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { KubernetesObject, PodSpec } from "@isochrone/kubernetes";
import { PLANNED_NODE_ANNOTATION } from "@isochrone/topology";

export interface Workload {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
}

export function workloadKey({ namespace, kind, name }: Workload): string {
  return `${namespace}/${kind}/${name}`;
}

export function nodeOf(pod: KubernetesObject): string | null {
  const { nodeName } = looseFields<PodSpec>(pod.spec);
  if (typeof nodeName === "string") return nodeName;
  return pod.metadata.annotations?.[PLANNED_NODE_ANNOTATION] ?? null;
}

export function isDeployment({ kind }: Workload): boolean {
  return kind === KINDS.deployment.kind;
}

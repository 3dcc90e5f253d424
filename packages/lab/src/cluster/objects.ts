import { matchesLabels } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";

interface Container {
  name: string;
  image?: string;
  ports?: { name?: string; containerPort: number }[];
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
}

interface PodSpec {
  nodeSelector?: Record<string, string>;
  schedulingGates?: { name: string }[];
  schedulerName?: string;
  containers?: Container[];
}

export const podSpec = (pod: KubernetesObject): PodSpec => pod.spec ?? {};

/** A Service without a selector selects no pods. */
export function serviceSelects(
  service: KubernetesObject,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  const { selector = {} } = (service.spec ?? {}) as { selector?: Record<string, string> };
  return Object.keys(selector).length > 0 && matchesLabels(selector, labels);
}

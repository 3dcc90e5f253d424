// Typed readings of the parts of Kubernetes objects that the embedded cluster uses.
import type { KubernetesObject } from "@isochrone/kubernetes";
import { parseBytes, parseMillicores } from "./quantity.ts";

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export interface Container {
  name: string;
  image?: string;
  ports?: { name?: string; containerPort: number }[];
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
}

export interface PodSpec {
  nodeName?: string;
  nodeSelector?: Record<string, string>;
  schedulingGates?: { name: string }[];
  schedulerName?: string;
  containers?: Container[];
}

export interface Resources {
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
}

export const podSpec = (pod: KubernetesObject): PodSpec => pod.spec ?? {};
export const nodeNameOf = (pod: KubernetesObject): string | null => podSpec(pod).nodeName ?? null;
export const isDeleting = (object: KubernetesObject): boolean =>
  object.metadata.deletionTimestamp !== undefined;
export const keyOf = (object: KubernetesObject): string =>
  `${object.metadata.namespace ?? ""}/${object.metadata.name}`;
export const phaseOf = (pod: KubernetesObject): string =>
  (pod.status?.["phase"] as string | undefined) ?? "Pending";
export const isFinished = (pod: KubernetesObject): boolean => ["Succeeded", "Failed"].includes(phaseOf(pod));

export const conditionsOf = (object: KubernetesObject): Condition[] =>
  (object.status?.["conditions"] ?? []) as Condition[];

export function conditionStatus(object: KubernetesObject, type: string): string {
  return conditionsOf(object).find((condition) => condition.type === type)?.status ?? "Unknown";
}

export const isReady = (object: KubernetesObject): boolean => conditionStatus(object, "Ready") === "True";

/** The object's conditions with these put in place of those of the same type; the transition time moves only with the status. */
export function withConditions(
  object: KubernetesObject,
  changes: readonly Condition[],
  time: string,
): Condition[] {
  const conditions = conditionsOf(object).map((condition) => ({ ...condition }));
  for (const change of changes) {
    const index = conditions.findIndex(({ type }) => type === change.type);
    const previous = conditions[index];
    const lastTransitionTime =
      previous?.status === change.status ? (previous.lastTransitionTime ?? time) : time;
    if (index < 0) conditions.push({ ...change, lastTransitionTime });
    else conditions[index] = { ...change, lastTransitionTime };
  }
  return conditions;
}

/** What a pod's containers request together. */
export function requestsOf(pod: KubernetesObject): Resources {
  let cpuMillicores = 0;
  let memoryBytes = 0;
  for (const { resources } of podSpec(pod).containers ?? []) {
    cpuMillicores += parseMillicores(resources?.requests?.["cpu"]) ?? 0;
    memoryBytes += parseBytes(resources?.requests?.["memory"]) ?? 0;
  }
  return { cpuMillicores, memoryBytes };
}

export function matches(
  labels: Readonly<Record<string, string>> | undefined,
  selector: Readonly<Record<string, string>>,
): boolean {
  const wanted = Object.entries(selector);
  return wanted.length > 0 && wanted.every(([key, value]) => labels?.[key] === value);
}

/** The workload of a pod: the Deployment behind its ReplicaSet, by the name that the controller gave. */
export function workloadOf(pod: KubernetesObject): string {
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
  const hash = pod.metadata.labels?.["pod-template-hash"];
  if (owner?.kind === "ReplicaSet" && hash !== undefined && owner.name.endsWith(`-${hash}`))
    return owner.name.slice(0, -hash.length - 1);
  return owner?.name ?? pod.metadata.name;
}

/** Wall time as Kubernetes writes it, in whole seconds. */
export function timestamp(nowMs: number): string {
  return new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z");
}

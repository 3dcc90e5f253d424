import { LABELS, templateLabels, type KubernetesObject } from "@isochrone/kubernetes";
import { fullName, workloadNameOf, type ClusterState, type NamespacedName } from "../domain/cluster-state.ts";
import { ASK_ANNOTATION, OBSERVE } from "./resource.ts";

type OnUnknown = (object: KubernetesObject, value: string) => void;

/** Workflow of each workload by `namespace/name`. A bare pod is its own workload. */
export function workflowsByWorkload({ workloads, pods, members }: ClusterState): Map<string, NamespacedName> {
  const workflows = new Map(workloads.map((workload) => [fullName(workload), workload.workflow]));
  for (const pod of pods) {
    const key = fullName({ namespace: pod.namespace, name: workloadNameOf(pod, members) });
    if (!workflows.has(key)) workflows.set(key, pod.workflow);
  }
  return workflows;
}

/** Workflows (`namespace/name`) that request an AppGroup, by their namespace or a workload. */
export function askedWorkflows(
  namespaces: readonly KubernetesObject[],
  workloadObjects: readonly KubernetesObject[],
  workflows: ReadonlyMap<string, NamespacedName>,
  onUnknown: OnUnknown,
): Set<string> {
  const asks = (object: KubernetesObject): boolean => {
    const value = object.metadata.annotations?.[ASK_ANNOTATION];
    if (value !== undefined && value !== OBSERVE) onUnknown(object, value);
    return value === OBSERVE && object.metadata.deletionTimestamp === undefined;
  };
  const whole = new Set(namespaces.filter(asks).map(({ metadata }) => metadata.name));
  const asked = new Set<string>();
  for (const workflow of workflows.values()) if (whole.has(workflow.namespace)) asked.add(fullName(workflow));
  for (const { metadata } of workloadObjects.filter(asks)) {
    const workflow = workflows.get(
      fullName({ namespace: metadata.namespace ?? "default", name: metadata.name }),
    );
    if (workflow !== undefined) asked.add(fullName(workflow));
  }
  return asked;
}

/** Workload label of the pods by `namespace/name` of the workload; omits workloads without it. */
export function selectorsOf(workloadObjects: readonly KubernetesObject[]): Map<string, string> {
  const selectors = new Map<string, string>();
  for (const { metadata, spec } of workloadObjects) {
    const selector = templateLabels(spec)[LABELS.appGroupWorkload];
    const { namespace = "default", name } = metadata;
    if (selector) selectors.set(fullName({ namespace, name }), selector);
  }
  return selectors;
}

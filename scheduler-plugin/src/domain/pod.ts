// Identity of a pod, from untrusted JSON of kube-scheduler.
import { addedAmount, PLANNED_NODE_ANNOTATION } from "@isochrone/topology";
import {
  looseFields,
  looseList,
  parseBytes,
  parseMillicores,
  type LooseFields,
  type Unchecked,
} from "@isochrone/primitives";
import { controlledWorkload, CONTROLLER_LABELS } from "@isochrone/primitives/workload-name";
import type { ResourceAmounts } from "@isochrone/placement";
import { boundedAmount, MAX_AMOUNTS } from "./bounded-amounts.ts";

export interface PodIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** From the first label present; the namespace's name without any. */
  readonly workflow: string;
  readonly labelled: boolean;
  /** Possible workload names, most certain first. */
  readonly workloads: readonly string[];
  readonly requests: ResourceAmounts;
  /** Sum over containers; null if one has no limit. Not kept for watched pods. */
  readonly cpuLimitMillicores?: number | null;
}

/** Labels that name a pod's workflow, by precedence (design §3). */
const WORKFLOW_LABELS = [
  "isochrone.dev/workflow",
  "appgroup.diktyo.x-k8s.io",
  "app.kubernetes.io/part-of",
] as const;

/** Labels that may name a pod's workload when no owner does. */
const WORKLOAD_LABELS = ["appgroup.diktyo.x-k8s.io.workload", "app.kubernetes.io/name", "app"] as const;
/** All labels that are read. AppGroup members are found by theirs. */
export const POD_LABELS: readonly string[] = [...WORKFLOW_LABELS, ...WORKLOAD_LABELS, ...CONTROLLER_LABELS];

export const MAX_NAME_CHARACTERS = 253;

export function plannedNodeOf(pod: unknown): string | null {
  const { annotations } = looseFields<PodMetadata>(looseFields<PodFields>(pod).metadata);
  return text(looseFields(annotations)[PLANNED_NODE_ANNOTATION]);
}

interface PodFields {
  readonly metadata: PodMetadata;
  readonly spec: { readonly containers: unknown };
}
interface PodMetadata {
  readonly annotations: LooseFields;
  readonly labels: LooseFields;
  readonly name: string;
  readonly namespace: string;
  readonly ownerReferences: readonly OwnerReference[];
  readonly uid: string;
}
interface OwnerReference {
  readonly controller: boolean;
  readonly kind: string;
  readonly name: string;
}

/** Missing or malformed fields are left empty. */
export function identifyPod(pod: unknown): PodIdentity {
  const metadata = looseFields<PodMetadata>(looseFields<PodFields>(pod).metadata);
  const labels = looseFields(metadata.labels);
  const namespace = text(metadata.namespace) ?? "default";
  const name = text(metadata.name) ?? "";
  const workflow = firstLabel(labels, WORKFLOW_LABELS);
  return {
    namespace,
    name,
    uid: text(metadata.uid) ?? "",
    workflow: workflow ?? namespace,
    labelled: workflow !== null,
    workloads: workloadNames(metadata, labels, name),
    requests: requestsOf(pod),
    cpuLimitMillicores: cpuLimitOf(pod),
  };
}

function workloadNames(metadata: Unchecked<PodMetadata>, labels: LooseFields, podName: string): string[] {
  const names: (string | null)[] = [];
  const owners = looseList<OwnerReference>(metadata.ownerReferences);
  const owner = owners.find((candidate) => candidate.controller === true) ?? owners[0];
  if (owner !== undefined) names.push(...ownerNames(owner, podName, labels));
  for (const label of WORKLOAD_LABELS) names.push(text(labels[label]));
  // A bare pod is its own workload.
  if (owner === undefined) names.push(podName);
  return [...new Set(names.filter((name): name is string => name !== null && name !== ""))];
}

/** Without a hash in the pod's labels its ReplicaSet may be a Deployment's, or nobody's. */
function ownerNames(
  owner: Unchecked<OwnerReference>,
  podName: string,
  labels: LooseFields,
): (string | null)[] {
  const name = text(owner.name);
  const kind = text(owner.kind);
  if (name === null || kind === null) return [name];
  const workload = controlledWorkload({ name: podName, labels }, { kind, name });
  const dash = name.lastIndexOf("-");
  return workload.kind === "ReplicaSet" && dash > 0 ? [name.slice(0, dash), name] : [workload.name];
}

function requestsOf(pod: unknown): ResourceAmounts {
  let cpu: number | null = null;
  let memory: number | null = null;
  const spec = looseFields<PodFields["spec"]>(looseFields<PodFields>(pod).spec);
  for (const { resources } of looseList<Record<"resources", unknown>>(spec.containers)) {
    const { requests } = looseFields<Record<"requests", unknown>>(resources);
    const amounts = looseFields<Record<"cpu" | "memory", unknown>>(requests);
    cpu = addedAmount(cpu, parseMillicores(amounts.cpu));
    memory = addedAmount(memory, parseBytes(amounts.memory));
  }
  // Each number is finite, but sums needn't be.
  return {
    cpuMillicores: boundedAmount(cpu, MAX_AMOUNTS.cpuMillicores),
    memoryBytes: boundedAmount(memory, MAX_AMOUNTS.memoryBytes),
  };
}

function cpuLimitOf(pod: unknown): number | null {
  const spec = looseFields<PodFields["spec"]>(looseFields<PodFields>(pod).spec);
  let sum = 0;
  for (const { resources } of looseList<Record<"resources", unknown>>(spec.containers)) {
    const { limits } = looseFields<Record<"limits", unknown>>(resources);
    const limit = parseMillicores(looseFields<Record<"cpu", unknown>>(limits).cpu);
    if (limit === null) return null;
    sum += limit;
  }
  return sum > 0 ? boundedAmount(sum, MAX_AMOUNTS.cpuMillicores) : null;
}

function firstLabel(labels: LooseFields, names: readonly string[]): string | null {
  for (const name of names) {
    const value = text(labels[name]);
    if (value !== null && value !== "") return value;
  }
  return null;
}

/** Rejects longer texts, which can't be names. */
function text(value: unknown): string | null {
  return typeof value === "string" && value.length <= MAX_NAME_CHARACTERS ? value : null;
}

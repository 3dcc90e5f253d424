import {
  looseFields,
  parseBytes,
  parseMillicores,
  type Bytes,
  type Millicores,
  type Unchecked,
} from "@isochrone/primitives";
import { bandwidthLimits, type BandwidthLimits } from "./bandwidth.ts";
import { hasCondition } from "./conditions.ts";
import { isPlainObject } from "./json.ts";
import type {
  Container,
  KubernetesObject,
  NodeSpec,
  NodeStatus,
  OwnerReference,
  PodSpec,
  PodStatus,
  PodTemplate,
  DeploymentSpec,
} from "../kinds.ts";
import { LABELS } from "./labels.ts";

interface NodeView {
  readonly name: string;
  /** Zone label of the node. Null: not labelled. */
  readonly zone: string | null;
  readonly region: string | null;
  readonly segment: string | null;
  /** Scheme of `spec.providerID`, such as `aws` of `aws:///us-east-1a/i-0123`. Null: none. */
  readonly provider: string | null;
  readonly ready: boolean;
  readonly cordoned: boolean;
  /** Allocatable CPU. Null: absent or unreadable. */
  readonly allocatableCpuMillicores: Millicores | null;
  readonly allocatableMemoryBytes: Bytes | null;
}

export interface PodView extends BandwidthLimits {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string | null;
  readonly node: string | null;
  readonly phase: string;
  readonly ip: string | null;
  readonly ready: boolean;
  readonly terminating: boolean;
  /** Whether the pod has Succeeded or Failed, and holds no resources. */
  readonly finished: boolean;
  /** CPU that the scheduler reserves: containers, or the largest init step, plus overhead. */
  readonly requestsCpuMillicores: Millicores;
  readonly requestsMemoryBytes: Bytes;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly owner: OwnerReference | null;
}

export function nodeView(node: KubernetesObject): NodeView {
  const labels = node.metadata.labels ?? {};
  const spec = looseFields<NodeSpec>(node.spec);
  const allocatable = looseFields(looseFields<NodeStatus>(node.status).allocatable);
  return {
    name: node.metadata.name,
    zone: labels[LABELS.zone] || null,
    region: labels[LABELS.region] || null,
    segment: labels[LABELS.segment] || null,
    provider: /^([a-z0-9-]{1,63}):/.exec(text(spec.providerID) ?? "")?.[1] ?? null,
    ready: hasCondition(node, "Ready"),
    cordoned: spec.unschedulable === true,
    allocatableCpuMillicores: parseMillicores(allocatable.cpu),
    allocatableMemoryBytes: parseBytes(allocatable.memory),
  };
}

/** Reads a Pod. Fields of a wrong type count as absent. */
export function podView(pod: KubernetesObject): PodView {
  const { metadata } = pod;
  const spec = looseFields<PodSpec>(pod.spec);
  const status = looseFields<PodStatus>(pod.status);
  const phase = text(status.phase) ?? "Unknown";
  const owners = metadata.ownerReferences ?? [];
  return {
    namespace: metadata.namespace ?? "default",
    name: metadata.name,
    uid: metadata.uid ?? null,
    node: text(spec.nodeName),
    phase,
    ip: text(status.podIP),
    ready: hasCondition(pod, "Ready"),
    terminating: metadata.deletionTimestamp !== undefined,
    finished: phase === "Succeeded" || phase === "Failed",
    requestsCpuMillicores: requests(spec, "cpu", parseMillicores),
    requestsMemoryBytes: requests(spec, "memory", parseBytes),
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    ...bandwidthLimits(metadata.annotations ?? {}),
    owner: owners.find((owner) => owner.controller === true) ?? owners[0] ?? null,
  };
}

export function templateLabels(spec: unknown): Readonly<Record<string, string>> {
  const { metadata } = looseFields<PodTemplate>(looseFields<DeploymentSpec>(spec).template);
  return looseFields(looseFields<PodTemplateMetadata>(metadata).labels) as Readonly<Record<string, string>>;
}

type PodTemplateMetadata = NonNullable<PodTemplate["metadata"]>;
type ContainerResources = NonNullable<Container["resources"]>;
type Parse = (quantity: unknown) => number | null;

/**
 * As in the scheduler: sidecars run next to containers, and each init container next to the sidecars started
 * before it.
 */
function requests(spec: Unchecked<PodSpec>, resource: string, parse: Parse): number {
  const of = ({ resources }: Unchecked<Container>): number =>
    parse(looseFields(looseFields<ContainerResources>(resources).requests)[resource]) ?? 0;
  let running = list(spec.containers).reduce((sum, container) => sum + of(container), 0);
  let sidecars = 0;
  let startingPeak = 0;
  for (const container of list(spec.initContainers)) {
    if (container.restartPolicy === "Always") {
      sidecars += of(container);
      startingPeak = Math.max(startingPeak, sidecars);
    } else startingPeak = Math.max(startingPeak, sidecars + of(container));
  }
  running += sidecars;
  return Math.max(running, startingPeak) + (parse(looseFields(spec.overhead)[resource]) ?? 0);
}

function list(containers: unknown): Unchecked<Container>[] {
  return Array.isArray(containers) ? containers.filter(isPlainObject) : [];
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

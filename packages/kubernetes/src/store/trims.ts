// Reduces cached objects: a pod shrinks from 8 KB to some hundred bytes.
import { conditionsOf, type Condition, type Conditioned } from "./conditions.ts";
import { isPlainObject } from "./json.ts";
import { looseFields, type LooseFields, type Unchecked } from "@isochrone/primitives";
import { pickedFields } from "./picked-fields.ts";
import type {
  Container,
  DeploymentSpec,
  KubernetesObject,
  ObjectMeta,
  PodSpec,
  PodStatus,
} from "../kinds.ts";

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Keeps what `podView` and `workloadOf` read, gates, nominated node and scheduler. */
export function trimmedPod(pod: KubernetesObject): KubernetesObject {
  const { apiVersion, kind, metadata } = pod;
  const spec = looseFields<PodSpec>(pod.spec);
  const status = looseFields<PodStatus>(pod.status);
  const containers = listOf(spec.containers).map(trimmedContainer);
  const initContainers = listOf(spec.initContainers).map(trimmedContainer);
  return {
    apiVersion,
    kind,
    metadata: withoutLastApplied(metadata),
    spec: {
      ...pickedFields(spec, ["nodeName", "schedulerName", "schedulingGates", "overhead"]),
      containers,
      ...(initContainers.length > 0 ? { initContainers } : {}),
    },
    status: {
      ...pickedFields(status, ["phase", "podIP", "nominatedNodeName"]),
      conditions: bareConditions(pod, ["Ready", "PodScheduled"]),
    },
  };
}

/** Keeps what `nodeView` reads, addresses, taints and all amounts. */
export function trimmedNode(node: KubernetesObject): KubernetesObject {
  const { apiVersion, kind, metadata, spec = {}, status = {} } = node;
  return {
    apiVersion,
    kind,
    metadata: withoutLastApplied(metadata),
    spec: pickedFields(spec, ["unschedulable", "taints", "providerID"]),
    status: {
      ...pickedFields(status, ["capacity", "allocatable", "addresses"]),
      conditions: bareConditions(node, ["Ready"]),
    },
  };
}

export function trimmedWorkload(workload: KubernetesObject): KubernetesObject {
  const { apiVersion, kind, metadata } = workload;
  const spec = looseFields<DeploymentSpec>(workload.spec);
  const template = pickedFields(looseFields(spec.template), ["metadata"]);
  return {
    apiVersion,
    kind,
    metadata: withoutLastApplied(metadata),
    spec: { ...pickedFields(spec, ["replicas", "selector"]), template },
  };
}

/** Keeps what `workloadOf` reads: there are ten times as many ReplicaSets as Deployments. */
export function trimmedReplicaSet({ apiVersion, kind, metadata }: KubernetesObject): KubernetesObject {
  const { labels: _labels, annotations: _annotations, ...kept } = metadata;
  return { apiVersion, kind, metadata: kept };
}

export function withoutLastApplied(metadata: ObjectMeta): ObjectMeta {
  if (metadata.annotations?.[LAST_APPLIED] === undefined) return metadata;
  const { [LAST_APPLIED]: _, ...annotations } = metadata.annotations;
  return { ...metadata, annotations };
}

function trimmedContainer(container: Unchecked<Container>): LooseFields {
  const { resources } = container;
  const requests = pickedFields(looseFields(resources), ["requests"]);
  return { ...pickedFields(container, ["name", "restartPolicy"]), resources: requests };
}

function bareConditions(object: Conditioned, types: readonly string[]): Condition[] {
  return conditionsOf(object)
    .filter(({ type }) => types.includes(type))
    .map(({ type, status, reason, message, lastTransitionTime }) => ({
      type,
      status,
      // Users see since when a node is not ready, not since when it is.
      ...(lastTransitionTime === undefined || status === "True" ? {} : { lastTransitionTime }),
      ...(reason === undefined ? {} : { reason }),
      // Users see why a pod isn't scheduled; success needs no message.
      ...(message === undefined || status === "True" ? {} : { message }),
    }));
}

function listOf(containers: unknown): Unchecked<Container>[] {
  return Array.isArray(containers) ? containers.filter(isPlainObject) : [];
}

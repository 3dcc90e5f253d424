import {
  conditionsOf,
  hasOurGate,
  MOVE_TO_ANNOTATION,
  MOVING_ANNOTATION,
  pickedFields,
  PLANNED_AMONG_ANNOTATION,
} from "@isochrone/kubernetes";
import { looseFields, looseList } from "@isochrone/primitives";
import type {
  KubernetesObject,
  LooseFields,
  Affinity,
  Container,
  ContainerPort,
  PodSpec,
  PodVolume,
  Unchecked,
} from "@isochrone/kubernetes";
import { GANG_KEYS } from "@isochrone/placement";
import { PLANNED_NODE_ANNOTATION } from "@isochrone/topology";
import { keptResources } from "../../adapters/observed-pod.ts";
import { PROMISE_ANNOTATION } from "./pod-writer.ts";

type Toleration = NonNullable<PodSpec["tolerations"]>[number];

const METADATA = [
  "name",
  "namespace",
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "deletionTimestamp",
  "labels",
  "ownerReferences",
] as const;
const SPEC = [
  "nodeName",
  "schedulerName",
  "overhead",
  "priority",
  "hostNetwork",
  "resources",
  "schedulingGates",
  "workloadRef",
  "schedulingGroup",
];

/** Keeps gated pods whole, for plans read the whole spec. Of 100,000 others a few hundred bytes stay. */
export function plannerPod(pod: KubernetesObject): KubernetesObject {
  if (hasOurGate(pod)) return pod;
  const { apiVersion, kind, metadata, status = {} } = pod;
  const spec = looseFields<PodSpec>(pod.spec);
  const annotations = annotationsOf(pod, typeof spec.nodeName === "string");
  return {
    apiVersion,
    kind,
    metadata: {
      ...(pickedFields(
        metadata as unknown as LooseFields,
        METADATA,
      ) as unknown as KubernetesObject["metadata"]),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    spec: {
      ...pickedFields(spec, SPEC),
      ...affinityOf(spec),
      ...volumesOf(spec),
      ...tolerationsOf(spec),
      containers: looseList<Container>(spec.containers).map(trimmedContainer),
      ...(spec.initContainers === undefined
        ? {}
        : { initContainers: looseList<Container>(spec.initContainers).map(trimmedContainer) }),
    },
    status: {
      ...pickedFields(status, ["phase", "nominatedNodeName"]),
      conditions: conditionsOf(pod).flatMap((condition): LooseFields[] => {
        if (condition.type === "PodScheduled") return [{ ...condition }];
        return condition.type === "Ready" ? [{ type: "Ready", status: condition.status }] : [];
      }),
    },
  };
}

const PLANNED = [PLANNED_NODE_ANNOTATION, PLANNED_AMONG_ANNOTATION, PROMISE_ANNOTATION];

const OF_ALL = [MOVE_TO_ANNOTATION, MOVING_ANNOTATION, ...GANG_KEYS];

function annotationsOf(
  { metadata: { annotations = {} } }: KubernetesObject,
  isPlaced: boolean,
): Record<string, string> {
  const names = isPlaced ? OF_ALL : [...PLANNED, ...OF_ALL];
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => names.includes(name)));
}

/** A placed pod's anti-affinity still repels others; its affinity is settled. */
function affinityOf(spec: Unchecked<PodSpec>): LooseFields {
  const { podAntiAffinity } = looseFields<Affinity>(spec.affinity);
  return podAntiAffinity === undefined ? {} : { affinity: { podAntiAffinity } };
}

function volumesOf(spec: Unchecked<PodSpec>): LooseFields {
  const claims = looseList<PodVolume>(spec.volumes).filter(
    ({ persistentVolumeClaim }) => persistentVolumeClaim !== undefined,
  );
  return claims.length === 0 ? {} : { volumes: claims };
}

function tolerationsOf(spec: Unchecked<PodSpec>): LooseFields {
  const tolerations = looseList<Toleration>(spec.tolerations).filter(
    ({ effect, tolerationSeconds }) =>
      tolerationSeconds === undefined && (effect === undefined || effect === "NoExecute"),
  );
  return tolerations.length === 0 ? {} : { tolerations };
}

function trimmedContainer(container: Unchecked<Container>): LooseFields {
  const ports = looseList<ContainerPort>(container.ports).filter(
    ({ hostPort }) => typeof hostPort === "number",
  );
  return {
    ...pickedFields(container, ["restartPolicy"]),
    resources: keptResources(container.resources),
    ...(ports.length === 0 ? {} : { ports }),
  };
}

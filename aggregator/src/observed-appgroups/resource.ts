import { createHash } from "node:crypto";
import {
  GENERATED_ANNOTATION,
  KINDS,
  type AppGroupDependency,
  type AppGroupSpec,
  type AppGroupWorkload,
  type AppGroupWorkloadRef,
  type KubernetesObject,
  type Unchecked,
} from "@isochrone/kubernetes";
import { definedOf, looseFields, looseList, looseText, parseBitsPerSecond } from "@isochrone/primitives";
import { workloadsText, type GroupDependency, type GroupWorkload } from "./domain/app-group.ts";
import { decimalQuantity } from "../network-topology/resource.ts";

/**
 * Annotation of a Namespace (for all its workflows) or of a workload (for its own): `observe` asks for a
 * generated AppGroup.
 */
export const ASK_ANNOTATION = "isochrone.dev/appgroup";
export const OBSERVE = "observe";

const API_VERSIONS: Readonly<Record<string, string>> = {
  Deployment: "apps/v1",
  StatefulSet: "apps/v1",
  DaemonSet: "apps/v1",
  ReplicaSet: "apps/v1",
  Job: "batch/v1",
  CronJob: "batch/v1",
  Rollout: "argoproj.io/v1alpha1",
  DeploymentConfig: "apps.openshift.io/v1",
  ReplicationController: "v1",
  Pod: "v1",
};

export function isWorkloadKind(kind: string): boolean {
  return Object.hasOwn(API_VERSIONS, kind);
}

export function isChangedByAnother(object: KubernetesObject): boolean {
  return object.metadata.annotations?.[GENERATED_ANNOTATION] !== hashOf(writtenGroup(object));
}

interface Group {
  readonly algorithm: string;
  readonly workloads: readonly GroupWorkload[];
}

export function writtenGroup(object: KubernetesObject): Group {
  const { topologySortingAlgorithm: algorithm, workloads } = looseFields<AppGroupSpec>(object.spec);
  return {
    algorithm: looseText(algorithm),
    workloads: looseList<AppGroupWorkload>(workloads).map(({ workload, dependencies }) => {
      const { name, kind, namespace, selector } = looseFields<AppGroupWorkloadRef>(workload);
      return {
        name: looseText(name),
        kind: looseText(kind),
        namespace: looseText(namespace),
        selector: looseText(selector),
        dependencies: looseList<AppGroupDependency>(dependencies).map(dependencyOf),
      };
    }),
  };
}

function dependencyOf({
  workload,
  minBandwidth,
  maxNetworkCost,
}: Unchecked<AppGroupDependency>): GroupDependency {
  return {
    name: looseText(looseFields<AppGroupWorkloadRef>(workload).name),
    minBitsPerSecond: parseBitsPerSecond(minBandwidth),
    maxNetworkCost: typeof maxNetworkCost === "number" ? maxNetworkCost : null,
  };
}

export function isSameGroup(object: KubernetesObject, group: Group): boolean {
  return groupText(writtenGroup(object)) === groupText(group);
}

/** The object to apply: spec and our annotation; bound to the version of `existing` if given. */
export function generatedAppGroup(
  ref: { readonly namespace: string; readonly name: string },
  group: Group,
  existing: KubernetesObject | null,
): KubernetesObject {
  const { uid, resourceVersion } = existing?.metadata ?? {};
  const selectors = new Map(group.workloads.map((workload) => [workload.name, workload]));
  return {
    ...KINDS.appGroup,
    metadata: {
      ...ref,
      ...definedOf({ uid, resourceVersion }),
      annotations: { [GENERATED_ANNOTATION]: hashOf(group) },
    },
    spec: {
      numMembers: group.workloads.length,
      topologySortingAlgorithm: group.algorithm,
      workloads: group.workloads.map((workload) => ({
        workload: reference(workload),
        ...(workload.dependencies.length === 0
          ? {}
          : {
              dependencies: workload.dependencies.map(({ name, minBitsPerSecond, maxNetworkCost }) => ({
                workload: reference(selectors.get(name)!),
                ...(minBitsPerSecond === null
                  ? {}
                  : { minBandwidth: decimalQuantity(BigInt(Math.ceil(minBitsPerSecond))) }),
                ...(maxNetworkCost === null ? {} : { maxNetworkCost }),
              })),
            }),
      })),
    },
  };
}

function reference({ kind, name, namespace, selector }: GroupWorkload): Record<string, string> {
  return { kind, apiVersion: API_VERSIONS[kind] ?? "", namespace, name, selector };
}

function groupText({ algorithm, workloads }: Group): string {
  return `${algorithm}\n${workloadsText(workloads)}`;
}

function hashOf(group: Group): string {
  return createHash("sha256").update(groupText(group)).digest("hex").slice(0, 16);
}

// Gang API by version: 1.35 has a Workload with groups, 1.36 a PodGroup.
import type { KubernetesObject } from "@isochrone/kubernetes";
import { KUBERNETES_VERSION } from "./versions.ts";

interface GangApi {
  readonly featureGates: string;
  readonly groupVersion: string;
  readonly object: (minCount: number) => Pick<KubernetesObject, "kind" | "spec">;
  readonly member: (name: string) => Readonly<Record<string, unknown>>;
}

const policy = (minCount: number): object => ({ gang: { minCount } });
const podGroup = (minCount: number): Pick<KubernetesObject, "kind" | "spec"> => ({
  kind: "PodGroup",
  spec: { schedulingPolicy: policy(minCount) },
});
const inPodGroup = (podGroupName: string): { schedulingGroup: object } => ({
  schedulingGroup: { podGroupName },
});

/** Keyed by minor version. The features are off by default in all versions. */
const APIS: Readonly<Partial<Record<string, GangApi>>> = {
  "1.35": {
    featureGates: "GenericWorkload=true,GangScheduling=true",
    groupVersion: "scheduling.k8s.io/v1alpha1",
    object: (minCount) => ({
      kind: "Workload",
      spec: { podGroups: [{ name: "all", policy: policy(minCount) }] },
    }),
    member: (name) => ({ workloadRef: { name, podGroup: "all" } }),
  },
  "1.36": {
    featureGates: "GenericWorkload=true,GangScheduling=true",
    groupVersion: "scheduling.k8s.io/v1alpha2",
    object: podGroup,
    member: inPodGroup,
  },
  "1.37": {
    featureGates: "GenericWorkload=true",
    groupVersion: "scheduling.k8s.io/v1beta1",
    object: podGroup,
    member: inPodGroup,
  },
};

const api = APIS[KUBERNETES_VERSION.split(".", 2).join(".")];

export const hasGangs = api !== undefined;

export const GANG_FLAGS =
  api === undefined
    ? {}
    : {
        apiServerFlags: [`--feature-gates=${api.featureGates}`, `--runtime-config=${api.groupVersion}=true`],
        schedulerFlags: [`--feature-gates=${api.featureGates}`],
      };

/** Binds either at least `minCount` pods or none. */
export function gangObject(namespace: string, name: string, minCount: number): KubernetesObject {
  const { groupVersion, object } = api!;
  return { apiVersion: groupVersion, metadata: { name, namespace }, ...object(minCount) };
}

export function inGang(name: string): Readonly<Record<string, unknown>> {
  return api!.member(name);
}

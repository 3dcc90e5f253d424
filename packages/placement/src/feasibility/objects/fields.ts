// Field names of Kubernetes objects. Values are untrusted: read them with `record`, `records` and `text`.

export type Named<Names extends string> = Readonly<Partial<Record<Names, unknown>>>;

declare const SHAPE: unique symbol;

export interface Untrusted<T> {
  readonly [SHAPE]?: T;
}

export type Metadata = Named<"deletionTimestamp" | "labels" | "uid" | "annotations"> & {
  readonly ownerReferences?: Untrusted<readonly OwnerReference[]>;
};
export type OwnerReference = Named<"controller" | "kind" | "name">;

export type PodSpec = Named<"nodeName" | "nodeSelector" | "overhead" | "priority"> & {
  readonly affinity?: Untrusted<Affinity>;
  readonly containers?: Untrusted<readonly Container[]>;
  readonly initContainers?: Untrusted<readonly Container[]>;
  readonly resources?: Untrusted<Resources>;
  readonly tolerations?: Untrusted<readonly Toleration[]>;
  readonly topologySpreadConstraints?: Untrusted<readonly SpreadConstraint[]>;
  readonly volumes?: Untrusted<readonly PodVolume[]>;
};
type Resources = Named<"requests" | "limits">;
export type Container = Named<"name" | "restartPolicy"> & {
  readonly ports?: Untrusted<readonly Named<"hostPort" | "hostIP" | "protocol">[]>;
  readonly resources?: Untrusted<Resources>;
};
export type Toleration = Named<"key" | "operator" | "value" | "effect">;
export type SpreadConstraint = Named<
  | "labelSelector"
  | "matchLabelKeys"
  | "maxSkew"
  | "minDomains"
  | "nodeAffinityPolicy"
  | "nodeTaintsPolicy"
  | "topologyKey"
  | "whenUnsatisfiable"
>;
type PodVolume = Named<"name"> & { readonly persistentVolumeClaim?: Untrusted<Named<"claimName">> };

export type AffinityKind = "nodeAffinity" | "podAffinity" | "podAntiAffinity";
type Affinity = {
  readonly [Kind in AffinityKind]?: Untrusted<Named<"requiredDuringSchedulingIgnoredDuringExecution">>;
};
export type AffinityTerm = Named<"labelSelector" | "namespaceSelector" | "namespaces" | "topologyKey">;

export type PodStatus = Named<"nominatedNodeName" | "phase"> & {
  readonly conditions?: Untrusted<readonly Condition[]>;
  readonly containerStatuses?: Untrusted<readonly ContainerStatus[]>;
  readonly initContainerStatuses?: Untrusted<readonly ContainerStatus[]>;
};
type Condition = Named<"type" | "status" | "reason">;
export type ContainerStatus = Named<"name" | "allocatedResources"> & {
  readonly resources?: Untrusted<Resources>;
};

export type NodeSpec = Named<"unschedulable"> & {
  readonly taints?: Untrusted<readonly Named<"key" | "value" | "effect">[]>;
};
export type NodeStatus = {
  readonly allocatable?: Untrusted<Named<"pods">>;
  readonly conditions?: Untrusted<readonly Condition[]>;
};

export type Requirement = Named<"key" | "operator" | "values">;
export type NodeSelectorTerm = {
  readonly matchExpressions?: Untrusted<readonly Requirement[]>;
  readonly matchFields?: Untrusted<readonly Requirement[]>;
};
export type NodeSelector = { readonly nodeSelectorTerms?: Untrusted<readonly NodeSelectorTerm[]> };

export type ClaimSpec = Named<"accessModes" | "volumeName">;
export type AttachmentSpec = Named<"nodeName"> & {
  readonly source?: Untrusted<Named<"persistentVolumeName">>;
};
export type CsiNodeSpec = {
  readonly drivers?: Untrusted<readonly CsiDriver[]>;
};
type CsiDriver = Named<"name"> & { readonly allocatable?: Untrusted<Named<"count">> };
export type VolumeSpec = {
  readonly csi?: Untrusted<Named<"driver" | "volumeHandle">>;
  readonly nodeAffinity?: Untrusted<Named<"required">>;
};

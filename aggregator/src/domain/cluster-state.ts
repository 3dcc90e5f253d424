import type { AppGroupMember, AppGroupMembers, DeclaredChannel, RoutingScope } from "@isochrone/topology";
import type { BitsPerSecond, Bytes, Millicores } from "@isochrone/primitives";

export interface NodeState {
  readonly name: string;
  readonly zone: string | null;
  readonly region: string | null;
  readonly segment: string | null;
  readonly ready: boolean;
  /** Last transition of the Ready condition, RFC 3339; absent: ready or unknown. */
  readonly notReadySince?: string;
  readonly cordoned: boolean;
  readonly allocatableCpuMillicores: Millicores | null;
  readonly allocatableMemoryBytes: Bytes | null;
  /** Declared capacity of its network interfaces, bit/s; null: none. */
  readonly networkCapacityBitsPerSecond: BitsPerSecond | null;
  /** Scheme of `spec.providerID`; null: none. */
  readonly provider: string | null;
}

export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

/** Other names of a workload in telemetry sources. */
export interface WorkloadAliases {
  readonly workload: readonly string[];
  readonly service: readonly string[];
}

export interface PodState extends NamespacedName {
  readonly node: string | null;
  /** Null: a bare pod is its own workload, unless AppGroup labels group it ({@link workloadNameOf}). */
  readonly workload: { readonly kind: string; readonly name: string } | null;
  readonly workflow: NamespacedName;
  /** AppGroup membership by labels; absent: none. */
  readonly appGroup?: AppGroupPlace;
  /** Bandwidth limits of the CNI's annotations, bit/s; absent: none. */
  readonly ingressLimitBitsPerSecond?: BitsPerSecond;
  readonly egressLimitBitsPerSecond?: BitsPerSecond;
  /** Pod addresses; absent: none yet, or the node's. */
  readonly addresses?: readonly string[];
  /** Waypoint or gateway of a mesh; absent: no. */
  readonly isMeshProxy?: true;
  readonly aliases?: WorkloadAliases;
}

type AppGroupPlace = Pick<AppGroupMember, "group" | "selector">;

export interface WorkloadState extends NamespacedName {
  readonly kind: string;
  readonly workflow: NamespacedName;
  readonly appGroup?: AppGroupPlace;
  readonly aliases?: WorkloadAliases;
}

export interface ClusterNodes {
  /** Sorted by name. */
  readonly nodes: readonly NodeState[];
  readonly leaving: ReadonlySet<string>;
}

export interface ClusterState extends ClusterNodes {
  readonly pods: readonly PodState[];
  readonly workloads: readonly WorkloadState[];
  readonly declared: readonly DeclaredChannel[];
  /** AppGroup members by labels; absent: none. */
  readonly members?: AppGroupMembers;
  /** Preference scopes of callers by `namespace/name` of the workload, narrowest first; absent: none. */
  readonly routing?: ReadonlyMap<string, readonly RoutingScope[]>;
  /** Request deadlines in ms by `namespace/name` of the Service; absent: none. */
  readonly deadlines?: ReadonlyMap<string, number>;
}

export const EMPTY_CLUSTER: ClusterState = {
  nodes: [],
  leaving: new Set(),
  pods: [],
  workloads: [],
  declared: [],
};

/** Key `namespace/name`. */
export function fullName({ namespace, name }: NamespacedName): string {
  return `${namespace}/${name}`;
}

export function workloadNameOf(
  { namespace, name, workload, appGroup }: PodState,
  members: AppGroupMembers | undefined,
): string {
  if (workload !== null) return workload.name;
  if (appGroup === undefined || members === undefined) return name;
  return members.workloadOf({ namespace, ...appGroup, workload: name, isBare: true });
}

import type { AppGroupMember, AppGroupMembers, DeclaredChannel, RoutingScope } from "@isochrone/topology";
import type { BitsPerSecond, Bytes, Millicores } from "@isochrone/primitives";

/** A node as its object says. */
export interface NodeState {
  readonly name: string;
  readonly zone: string | null;
  readonly region: string | null;
  readonly segment: string | null;
  readonly ready: boolean;
  /** Last transition of the condition Ready, RFC 3339; absent: it is ready, or nobody wrote down when. */
  readonly notReadySince?: string;
  readonly cordoned: boolean;
  readonly allocatableCpuMillicores: Millicores | null;
  readonly allocatableMemoryBytes: Bytes | null;
  /** Capacity of its network interfaces, bits per second, as an extended resource declares it. */
  readonly networkCapacityBitsPerSecond: BitsPerSecond | null;
  /** Scheme of `spec.providerID`; null: it has none. */
  readonly provider: string | null;
}

/** A name within a namespace. */
export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

/** Names other than its own by which sources know a workload. */
export interface WorkloadAliases {
  /** Names that meshes and owner attributes use. */
  readonly workload: readonly string[];
  /** Names of services in traces and flows. */
  readonly service: readonly string[];
}

/** A pod that still runs or will. */
export interface PodState extends NamespacedName {
  /** Null while not bound. */
  readonly node: string | null;
  /**
   * Null: a bare pod; it is its own workload, unless an AppGroup's labels say that it is one of several
   * ({@link workloadNameOf}).
   */
  readonly workload: { readonly kind: string; readonly name: string } | null;
  readonly workflow: NamespacedName;
  /** Its place in an AppGroup, by its labels; absent: none. */
  readonly appGroup?: AppGroupPlace;
  /** Limits of its traffic that its annotations set for the CNI, bits per second; absent: none. */
  readonly ingressLimitBitsPerSecond?: BitsPerSecond;
  readonly egressLimitBitsPerSecond?: BitsPerSecond;
  /** Its own addresses; absent: none yet, or those of its node. */
  readonly addresses?: readonly string[];
  /** A waypoint or gateway that a mesh's control plane made; absent: it is none. */
  readonly isMeshProxy?: true;
  /** Other names of its workload; absent: none. Equal ones of several pods are one object. */
  readonly aliases?: WorkloadAliases;
}

/** An AppGroup's name, and the selector of a workload of it. */
type AppGroupPlace = Pick<AppGroupMember, "group" | "selector">;

/** A workload object, with or without pods. */
export interface WorkloadState extends NamespacedName {
  readonly kind: string;
  readonly workflow: NamespacedName;
  /** Its pods' place in an AppGroup, by the labels of the template; absent: none. */
  readonly appGroup?: AppGroupPlace;
  /** Other names that the template gives it; absent: none. */
  readonly aliases?: WorkloadAliases;
}

/** The nodes at one moment. */
export interface ClusterNodes {
  /** Sorted by name. */
  readonly nodes: readonly NodeState[];
  /** Names of the nodes that are being deleted. */
  readonly leaving: ReadonlySet<string>;
}

/** The cluster at one moment, from its objects. */
export interface ClusterState extends ClusterNodes {
  readonly pods: readonly PodState[];
  readonly workloads: readonly WorkloadState[];
  readonly declared: readonly DeclaredChannel[];
  /** Who carries the labels of which AppGroup; absent: nobody. */
  readonly members?: AppGroupMembers;
  /**
   * By full name of a workload, where its callers prefer a nearer replica, the narrowest scope first; absent,
   * or not in it: nowhere.
   */
  readonly routing?: ReadonlyMap<string, readonly RoutingScope[]>;
  /** By full name of a Service, how long a request may take, ms; absent, or not in it: nobody said. */
  readonly deadlines?: ReadonlyMap<string, number>;
}

/** Before anything is known. */
export const EMPTY_CLUSTER: ClusterState = {
  nodes: [],
  leaving: new Set(),
  pods: [],
  workloads: [],
  declared: [],
};

/** namespace/name, as keys of maps and of usage tables. */
export function fullName({ namespace, name }: NamespacedName): string {
  return `${namespace}/${name}`;
}

/** The workload that a pod belongs to. */
export function workloadNameOf(
  { namespace, name, workload, appGroup }: PodState,
  members: AppGroupMembers | undefined,
): string {
  if (workload !== null) return workload.name;
  if (appGroup === undefined || members === undefined) return name;
  return members.workloadOf({ namespace, ...appGroup, workload: name, isBare: true });
}

// The kinds in use, and what their objects look like: types only, nothing of the client library is loaded for
// them.
import type {
  V1ClusterRole,
  V1ConfigMap,
  V1CSINode,
  V1CustomResourceDefinition,
  V1DaemonSet,
  V1Deployment,
  V1EndpointSlice,
  V1Job,
  V1Lease,
  V1MutatingWebhookConfiguration,
  V1Namespace,
  V1Node,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Pod,
  V1PodDisruptionBudget,
  V1ReplicaSet,
  V1Secret,
  V1SelfSubjectAccessReview,
  V1Service,
  V1StatefulSet,
  V1SubjectAccessReview,
  V1TokenReview,
  V1VolumeAttachment,
  V2HorizontalPodAutoscaler,
} from "@kubernetes/client-node";

export interface KindRef {
  readonly apiVersion: string;
  readonly kind: string;
}

export interface ObjectRef extends KindRef {
  /** Absent for cluster-scoped kinds. */
  readonly namespace?: string;
  readonly name: string;
}

export interface ObjectMeta {
  name: string;
  /** Prefix of a name that the API server made; absent: its maker has chosen the name. */
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
}

export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  [field: string]: unknown;
}

/** The kinds in use. */
export const KINDS = {
  node: { apiVersion: "v1", kind: "Node" },
  pod: { apiVersion: "v1", kind: "Pod" },
  service: { apiVersion: "v1", kind: "Service" },
  endpointSlice: { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" },
  deployment: { apiVersion: "apps/v1", kind: "Deployment" },
  replicaSet: { apiVersion: "apps/v1", kind: "ReplicaSet" },
  statefulSet: { apiVersion: "apps/v1", kind: "StatefulSet" },
  daemonSet: { apiVersion: "apps/v1", kind: "DaemonSet" },
  job: { apiVersion: "batch/v1", kind: "Job" },
  namespace: { apiVersion: "v1", kind: "Namespace" },
  persistentVolume: { apiVersion: "v1", kind: "PersistentVolume" },
  persistentVolumeClaim: { apiVersion: "v1", kind: "PersistentVolumeClaim" },
  csiNode: { apiVersion: "storage.k8s.io/v1", kind: "CSINode" },
  volumeAttachment: { apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment" },
  configMap: { apiVersion: "v1", kind: "ConfigMap" },
  secret: { apiVersion: "v1", kind: "Secret" },
  event: { apiVersion: "events.k8s.io/v1", kind: "Event" },
  horizontalPodAutoscaler: { apiVersion: "autoscaling/v2", kind: "HorizontalPodAutoscaler" },
  podDisruptionBudget: { apiVersion: "policy/v1", kind: "PodDisruptionBudget" },
  customResourceDefinition: { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" },
  mutatingWebhookConfiguration: {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
  },
  clusterRole: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" },
  /** Answered, never stored: what is created comes back with its status. */
  tokenReview: { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview" },
  subjectAccessReview: { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview" },
  /** Of whoever asks. */
  selfSubjectAccessReview: { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview" },
  lease: { apiVersion: "coordination.k8s.io/v1", kind: "Lease" },
  appGroup: { apiVersion: "appgroup.diktyo.x-k8s.io/v1alpha1", kind: "AppGroup" },
  destinationRule: { apiVersion: "networking.istio.io/v1", kind: "DestinationRule" },
  networkTopology: { apiVersion: "networktopology.diktyo.x-k8s.io/v1alpha1", kind: "NetworkTopology" },
  streamJob: { apiVersion: "isochrone.dev/v1alpha1", kind: "StreamJob" },
  flowNetwork: { apiVersion: "isochrone.dev/v1alpha1", kind: "FlowNetwork" },
} as const satisfies Record<string, KindRef>;

/**
 * As JSON carries it: times are texts. Any field may be missing: caches trim objects, and not all of them
 * come from an API server.
 */
type Json<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? Json<Item>[]
    : T extends object
      ? string extends keyof T
        ? { [K in keyof T]: Json<T[K]> }
        : { [K in keyof T]?: Json<T[K]> }
      : T;

type Typed<Kind extends string, T> = {
  apiVersion: string;
  kind: Kind;
  metadata: ObjectMeta;
} & Omit<Json<T>, "apiVersion" | "kind" | "metadata">;

export type Pod = Typed<"Pod", V1Pod>;
type Node = Typed<"Node", V1Node>;
type Service = Typed<"Service", V1Service>;
type EndpointSlice = Typed<"EndpointSlice", V1EndpointSlice>;
type Deployment = Typed<"Deployment", V1Deployment>;
type ReplicaSet = Typed<"ReplicaSet", V1ReplicaSet>;
type StatefulSet = Typed<"StatefulSet", V1StatefulSet>;
type DaemonSet = Typed<"DaemonSet", V1DaemonSet>;
type Lease = Typed<"Lease", V1Lease>;
type ConfigMap = Typed<"ConfigMap", V1ConfigMap>;
export type Secret = Typed<"Secret", V1Secret>;
type PersistentVolume = Typed<"PersistentVolume", V1PersistentVolume>;
type PersistentVolumeClaim = Typed<"PersistentVolumeClaim", V1PersistentVolumeClaim>;
type PodDisruptionBudget = Typed<"PodDisruptionBudget", V1PodDisruptionBudget>;
type MutatingWebhookConfiguration = Typed<"MutatingWebhookConfiguration", V1MutatingWebhookConfiguration>;

export type PodSpec = NonNullable<Pod["spec"]>;
export type PodStatus = NonNullable<Pod["status"]>;
export type Container = NonNullable<PodSpec["containers"]>[number];
export type ContainerStatus = NonNullable<PodStatus["containerStatuses"]>[number];
export type ContainerPort = NonNullable<Container["ports"]>[number];
export type Affinity = NonNullable<PodSpec["affinity"]>;
export type PodVolume = NonNullable<PodSpec["volumes"]>[number];
export type ServiceSpec = NonNullable<Service["spec"]>;
export type Webhook = NonNullable<MutatingWebhookConfiguration["webhooks"]>[number];
export type MatchCondition = NonNullable<Webhook["matchConditions"]>[number];
export type LabelSelector = NonNullable<DeploymentSpec["selector"]>;
export type LabelExpression = NonNullable<LabelSelector["matchExpressions"]>[number];
export type NodeSpec = NonNullable<Node["spec"]>;
export type NodeStatus = NonNullable<Node["status"]>;
export type DeploymentSpec = NonNullable<Deployment["spec"]>;
export type LeaseSpec = NonNullable<Lease["spec"]>;
export type AppGroupSpec = NonNullable<AppGroup["spec"]>;
export type AppGroupWorkload = NonNullable<AppGroupSpec["workloads"]>[number];
export type AppGroupDependency = NonNullable<AppGroupWorkload["dependencies"]>[number];
export type PodTemplate = NonNullable<DeploymentSpec["template"]>;

/** How an AppGroup (KEP-260) names a workload. */
export interface AppGroupWorkloadRef {
  kind?: string;
  apiVersion?: string;
  namespace?: string;
  name?: string;
  selector?: string;
}

/**
 * Custom resources are written by tenants: what the schema doesn't demand may be of any type, so read them by
 * `looseFields`.
 */
type AppGroup = Typed<
  "AppGroup",
  {
    spec: {
      numMembers: number;
      topologySortingAlgorithm: string;
      workloads: {
        workload: AppGroupWorkloadRef;
        dependencies: {
          workload: AppGroupWorkloadRef;
          minBandwidth: string | number;
          maxNetworkCost: number;
        }[];
      }[];
    };
    status: {
      runningWorkloads: number;
      scheduleStartTime: string | null;
      topologyCalculationTime: string;
      topologyOrder: { workload: AppGroupWorkloadRef; index: number }[];
    };
  }
>;

/** KEP-260's costs between regions and zones. */
export type NetworkTopology = Typed<
  "NetworkTopology",
  {
    spec: { configmapName: string; weights: unknown[] };
    status: { nodeCount: number; weightCalculationTime: string };
  }
>;

/** What is read of Istio's. */
type DestinationRule = Typed<
  "DestinationRule",
  { spec: { host: string; workloadSelector: object; trafficPolicy: TrafficPolicy } }
>;
export interface TrafficPolicy {
  outlierDetection: object;
  loadBalancer: LoadBalancer;
}
export interface LoadBalancer {
  localityLbSetting: LocalityLbSetting;
}
export interface LocalityLbSetting {
  enabled: boolean;
  distribute: object[];
  failoverPriority: string[];
}

/** The types by kind. */
interface ObjectOfKind {
  Pod: Pod;
  Node: Node;
  Service: Service;
  EndpointSlice: EndpointSlice;
  Deployment: Deployment;
  ReplicaSet: ReplicaSet;
  StatefulSet: StatefulSet;
  DaemonSet: DaemonSet;
  Job: Typed<"Job", V1Job>;
  Namespace: Typed<"Namespace", V1Namespace>;
  PersistentVolume: PersistentVolume;
  PersistentVolumeClaim: PersistentVolumeClaim;
  CSINode: Typed<"CSINode", V1CSINode>;
  VolumeAttachment: Typed<"VolumeAttachment", V1VolumeAttachment>;
  ConfigMap: ConfigMap;
  Secret: Secret;
  HorizontalPodAutoscaler: Typed<"HorizontalPodAutoscaler", V2HorizontalPodAutoscaler>;
  PodDisruptionBudget: PodDisruptionBudget;
  CustomResourceDefinition: Typed<"CustomResourceDefinition", V1CustomResourceDefinition>;
  MutatingWebhookConfiguration: MutatingWebhookConfiguration;
  ClusterRole: Typed<"ClusterRole", V1ClusterRole>;
  TokenReview: Typed<"TokenReview", V1TokenReview>;
  SubjectAccessReview: Typed<"SubjectAccessReview", V1SubjectAccessReview>;
  SelfSubjectAccessReview: Typed<"SelfSubjectAccessReview", V1SelfSubjectAccessReview>;
  Lease: Lease;
  AppGroup: AppGroup;
  DestinationRule: DestinationRule;
  NetworkTopology: NetworkTopology;
}

/** What an object of a kind is; of a kind that isn't known at compile time, any object. */
export type ObjectOf<K extends KindRef> = K["kind"] extends keyof ObjectOfKind
  ? ObjectOfKind[K["kind"]]
  : KubernetesObject;

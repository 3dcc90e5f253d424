import type { KubernetesObject } from "@isochrone/kubernetes";

/** KWOK manages nodes with this annotation. */
export const KWOK_ANNOTATION = "kwok.x-k8s.io/node";

export interface NodeOptions {
  /** @default node-0, node-1, ... */
  readonly name?: string;
  readonly zone?: string;
  readonly region?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly taints?: readonly Readonly<Record<string, string>>[];
  /** Allocatable and capacity. @default 32 */
  readonly cpu?: string;
  /** @default 256Gi */
  readonly memory?: string;
  /** @default 110 */
  readonly pods?: number;
  /** Keyed by resource name, such as network.aware.com/bandwidth. */
  readonly extendedResources?: Readonly<Record<string, string>>;
}

export interface PodOptions {
  /** @default default */
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Requests of the single container. @default cpu 100m, memory 128Mi */
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
  readonly schedulerName?: string;
  readonly schedulingGates?: readonly string[];
  /** Node set at creation, which bypasses the scheduler. */
  readonly nodeName?: string;
  readonly spec?: Readonly<Record<string, unknown>>;
}

export interface WorkloadOptions extends PodOptions {
  /** @default Deployment */
  readonly kind?: "Deployment" | "StatefulSet" | "DaemonSet";
  /** @default 1 */
  readonly replicas?: number;
  /** Labels of the workload itself; `labels` and `annotations` are its pods'. */
  readonly workloadLabels?: Readonly<Record<string, string>>;
  readonly workloadAnnotations?: Readonly<Record<string, string>>;
}

/** @param withoutKwok makes the node Ready at once, because nothing updates it later */
export function nodeObject(
  options: NodeOptions & { readonly name: string },
  withoutKwok: boolean,
): KubernetesObject {
  const { name, zone, region, taints, cpu = "32", memory = "256Gi", pods = 110 } = options;
  const labels = {
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
    ...(zone === undefined ? {} : { "topology.kubernetes.io/zone": zone }),
    ...(region === undefined ? {} : { "topology.kubernetes.io/region": region }),
    ...options.labels,
  };
  const allocatable = { cpu, memory, pods: String(pods), ...options.extendedResources };
  const conditions = withoutKwok ? [{ type: "Ready", status: "True", reason: "KubeletReady" }] : [];
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels, annotations: { ...options.annotations, [KWOK_ANNOTATION]: "fake" } },
    spec: taints === undefined ? {} : { taints },
    status: { allocatable, capacity: allocatable, ...(withoutKwok ? { conditions } : {}) },
  };
}

export function podObject(name: string, options: PodOptions): KubernetesObject {
  const { namespace = "default", labels = {}, annotations = {} } = options;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels: { ...labels }, annotations: { ...annotations } },
    spec: podSpec(options),
  };
}

/** Its pods carry the label app=NAME, which is also its selector. */
export function workloadObject(name: string, options: WorkloadOptions): KubernetesObject {
  const { kind = "Deployment", replicas = 1, namespace = "default", annotations = {} } = options;
  const selector = { app: name };
  const template = {
    metadata: { labels: { ...options.labels, ...selector }, annotations },
    spec: podSpec(options),
  };
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: {
      name,
      namespace,
      labels: { ...selector, ...options.workloadLabels },
      annotations: { ...options.workloadAnnotations },
    },
    spec: {
      ...(kind === "DaemonSet" ? {} : { replicas }),
      ...(kind === "StatefulSet" ? { serviceName: name, podManagementPolicy: "Parallel" } : {}),
      selector: { matchLabels: selector },
      template,
    },
  };
}

export function isReady(node: KubernetesObject): boolean {
  const conditions = (node.status?.["conditions"] ?? []) as readonly { type: string; status: string }[];
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

export function isRunning(pod: KubernetesObject): boolean {
  return pod.status?.["phase"] === "Running";
}

/** Returns null for a pod without a node. */
export function nodeNameOf(pod: KubernetesObject): string | null {
  return (pod.spec?.["nodeName"] as string | undefined) ?? null;
}

function podSpec(options: PodOptions): Record<string, unknown> {
  const { requests = { cpu: "100m", memory: "128Mi" }, limits = {}, schedulingGates = [] } = options;
  const { schedulerName, nodeName } = options;
  return {
    containers: [{ name: "main", image: "none", resources: { requests, limits } }],
    ...(schedulerName === undefined ? {} : { schedulerName }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(schedulingGates.length === 0 ? {} : { schedulingGates: schedulingGates.map((name) => ({ name })) }),
    ...options.spec,
  };
}

// Pods as Istio 1.30.0 and Cilium's chart write them, reduced to what discovery could look at. The templates
// are named in discovery/.
import { KINDS, type KubernetesObject, type OwnerReference } from "@isochrone/kubernetes";

interface PodOptions {
  readonly name?: string;
  readonly namespace?: string;
  readonly node?: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  /** @default "default", by saying nothing */
  readonly account?: string;
  /** The controller. @default none */
  readonly owner?: OwnerReference | undefined;
  /** Whether the controller has chosen the pod's name. @default the API server has made it */
  readonly isNamed?: boolean;
  readonly spec?: Record<string, unknown>;
  readonly status?: Record<string, unknown>;
}

const RUNNING = { running: { startedAt: "2026-11-21T10:00:00Z" } };

/** A controller of pods, as its pods name it. */
export function controller(kind: string, name: string): OwnerReference {
  const apiVersion = kind === "Job" ? "batch/v1" : "apps/v1";
  return { apiVersion, kind, name, uid: `uid-${name}`, controller: true };
}

/** A pod of one application container that runs on n1. */
export function pod(options: PodOptions = {}): KubernetesObject {
  const { name = "cart-0", namespace = "shop", node = "n1", labels = {}, annotations = {} } = options;
  return {
    ...KINDS.pod,
    metadata: {
      name,
      namespace,
      labels,
      annotations,
      ...(options.owner === undefined ? {} : { ownerReferences: [options.owner] }),
      ...(options.owner === undefined || options.isNamed === true
        ? {}
        : { generateName: `${options.owner.name}-` }),
    },
    spec: {
      nodeName: node,
      ...(options.account === undefined ? {} : { serviceAccountName: options.account }),
      containers: [{ name: "app", image: "cart:1", ports: [{ name: "http", containerPort: 8080 }] }],
      ...options.spec,
    },
    status: {
      phase: "Running",
      podIP: "10.1.0.7",
      podIPs: [{ ip: "10.1.0.7" }],
      containerStatuses: [{ name: "app", ready: true, state: RUNNING }],
      ...options.status,
    },
  };
}

const ENVOY_PORTS = [{ containerPort: 15_090, name: "http-envoy-prom", protocol: "TCP" }];
const MERGED = {
  "prometheus.io/path": "/stats/prometheus",
  "prometheus.io/port": "15020",
  "prometheus.io/scrape": "true",
};

/** With an injected sidecar: a second container. */
export function injectedPod(options: PodOptions = {}): KubernetesObject {
  return pod({
    ...options,
    annotations: { ...MERGED, "sidecar.istio.io/status": "{}", ...options.annotations },
    spec: {
      initContainers: [{ name: "istio-init", image: "proxyv2" }],
      containers: [{ name: "app" }, { name: "istio-proxy", image: "proxyv2", ports: ENVOY_PORTS }],
      ...options.spec,
    },
    status: {
      containerStatuses: [
        { name: "app", state: RUNNING },
        { name: "istio-proxy", state: RUNNING },
      ],
      initContainerStatuses: [{ name: "istio-init", state: { terminated: { exitCode: 0 } } }],
      ...options.status,
    },
  });
}

/** With a native sidecar: an init container that restarts always. */
export function nativeSidecarPod(options: PodOptions = {}): KubernetesObject {
  return pod({
    ...options,
    annotations: { ...MERGED, ...options.annotations },
    spec: {
      initContainers: [
        { name: "istio-init", image: "proxyv2" },
        { name: "istio-proxy", image: "proxyv2", restartPolicy: "Always", ports: ENVOY_PORTS },
      ],
      containers: [{ name: "app" }],
      ...options.spec,
    },
    status: {
      initContainerStatuses: [
        { name: "istio-init", state: { terminated: { exitCode: 0 } } },
        { name: "istio-proxy", started: true, state: RUNNING },
      ],
      ...options.status,
    },
  });
}

/** A proxy that the Gateway API asked for; the class istio-waypoint makes it a waypoint. */
export function gatewayPod(gatewayClass: string, options: PodOptions = {}): KubernetesObject {
  return pod({
    name: "waypoint-5c9",
    ...options,
    annotations: { ...MERGED, "istio.io/rev": "default" },
    labels: {
      "gateway.networking.k8s.io/gateway-name": "waypoint",
      "gateway.networking.k8s.io/gateway-class-name": gatewayClass,
      "sidecar.istio.io/inject": "false",
      "istio.io/dataplane-mode": "none",
    },
    spec: {
      containers: [
        {
          name: "istio-proxy",
          ports: [
            { containerPort: 15_020, name: "metrics" },
            { containerPort: 15_021, name: "status-port" },
            ...ENVOY_PORTS,
          ],
        },
      ],
    },
    status: { containerStatuses: [{ name: "istio-proxy", state: RUNNING }], ...options.status },
  });
}

export function ztunnelPod(options: PodOptions = {}): KubernetesObject {
  return pod({
    name: "ztunnel-abcde",
    namespace: "istio-system",
    owner: controller("DaemonSet", "ztunnel"),
    ...options,
    labels: { app: "ztunnel", "app.kubernetes.io/name": "ztunnel", "istio.io/dataplane-mode": "none" },
    annotations: {
      "prometheus.io/port": "15020",
      "prometheus.io/scrape": "true",
      "sidecar.istio.io/inject": "false",
    },
    spec: {
      containers: [{ name: "istio-proxy", ports: [{ containerPort: 15_020, name: "ztunnel-stats" }] }],
    },
    status: { containerStatuses: [{ name: "istio-proxy", state: RUNNING }], ...options.status },
  });
}

/** A pod as Linkerd's injector leaves it, its proxy a native sidecar. */
export function linkerdPod(options: PodOptions = {}): KubernetesObject {
  return pod({
    name: "web-5d9c6-x7f2k",
    namespace: "shop",
    ...options,
    spec: {
      serviceAccountName: "web",
      containers: [{ name: "app", ports: [{ name: "http", containerPort: 8080 }] }],
      initContainers: [
        {
          name: "linkerd-proxy",
          restartPolicy: "Always",
          ports: [
            { name: "linkerd-proxy", containerPort: 4143 },
            { name: "linkerd-admin", containerPort: 4191 },
          ],
        },
      ],
    },
    status: { initContainerStatuses: [{ name: "linkerd-proxy", state: RUNNING }], podIP: "10.0.0.5" },
  });
}

/** Cilium's agent, on the node's network; with Hubble's metrics switched on it has their port. */
export function ciliumPod(hubbleMetrics: boolean, options: PodOptions = {}): KubernetesObject {
  const hubble = { name: "hubble-metrics", containerPort: 9965, hostPort: 9965 };
  return pod({
    name: "cilium-xyz",
    namespace: "kube-system",
    owner: controller("DaemonSet", "cilium"),
    ...options,
    labels: { "k8s-app": "cilium", "app.kubernetes.io/name": "cilium-agent" },
    spec: {
      hostNetwork: true,
      containers: [
        {
          name: "cilium-agent",
          ports: [{ name: "peer-service", containerPort: 4244 }, ...(hubbleMetrics ? [hubble] : [])],
        },
      ],
    },
    status: {
      podIP: "192.0.2.1",
      podIPs: [{ ip: "192.0.2.1" }],
      containerStatuses: [{ name: "cilium-agent", state: RUNNING }],
    },
  });
}

/** node_exporter, on the node's network, as Prometheus' chart prometheus-node-exporter makes it. */
export function nodeExporterPod(options: PodOptions = {}): KubernetesObject {
  return pod({
    name: "node-exporter-xyz",
    namespace: "monitoring",
    owner: controller("DaemonSet", "node-exporter"),
    ...options,
    labels: { "app.kubernetes.io/name": "prometheus-node-exporter" },
    spec: {
      hostNetwork: true,
      containers: [{ name: "node-exporter", ports: [{ name: "http-metrics", containerPort: 9100 }] }],
    },
    status: {
      podIP: "192.0.2.1",
      podIPs: [{ ip: "192.0.2.1" }],
      containerStatuses: [{ name: "node-exporter", state: RUNNING }],
    },
  });
}

export function node(name: string, addresses: readonly string[], kubeletPort = 10_250): KubernetesObject {
  return {
    ...KINDS.node,
    metadata: { name },
    status: {
      addresses: [
        { type: "Hostname", address: name },
        ...addresses.map((address) => ({ type: "InternalIP", address })),
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } },
    },
  };
}

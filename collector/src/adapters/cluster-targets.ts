import {
  createInformer,
  KINDS,
  podView,
  type ClusterStore,
  type KubernetesObject,
} from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import type { Target, TargetSource } from "../ports.ts";

export interface ClusterTargetsOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Only this node's kubelet and pods. */
  readonly node: string;
  /** Scheme of the kubelet's page. @default "https" */
  readonly kubeletScheme?: "http" | "https";
}

/** Finds pages in the cluster: the node's kubelet, and the sidecars of the pods on it by the prometheus.io annotations that Istio's injector sets. */
export class ClusterTargets implements TargetSource {
  readonly #node: string;
  readonly #scheme: string;
  readonly #pods: ReturnType<typeof createInformer>;
  readonly #nodes: ReturnType<typeof createInformer>;

  constructor({ store, clock, random, logger, node, kubeletScheme = "https" }: ClusterTargetsOptions) {
    this.#node = node;
    this.#scheme = kubeletScheme;
    this.#pods = createInformer({ store, kind: KINDS.pod, clock, random, logger });
    this.#nodes = createInformer({ store, kind: KINDS.node, clock, random, logger });
  }

  async start(): Promise<void> {
    await Promise.all([this.#pods.synced(), this.#nodes.synced()]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#pods.stop(), this.#nodes.stop()]);
  }

  targets(): readonly Target[] {
    const node = this.#nodes.items().find(({ metadata }) => metadata.name === this.#node);
    const kubelet = node === undefined ? null : kubeletTarget(node, this.#scheme);
    const sidecars = this.#pods.items().flatMap((pod) => sidecarTarget(pod, this.#node) ?? []);
    return kubelet === null ? sidecars : [kubelet, ...sidecars];
  }
}

interface NodeStatus {
  readonly addresses?: readonly { readonly type: string; readonly address: string }[];
  readonly daemonEndpoints?: { readonly kubeletEndpoint?: { readonly Port?: number } };
}

function kubeletTarget(node: KubernetesObject, scheme: string): Target | null {
  const { addresses = [], daemonEndpoints } = (node.status ?? {}) as NodeStatus;
  const address = addresses.find(({ type }) => type === "InternalIP")?.address;
  if (address === undefined) return null;
  const port = daemonEndpoints?.kubeletEndpoint?.Port ?? 10_250;
  return {
    kind: "cadvisor",
    url: `${scheme}://${bracketed(address)}:${port}/metrics/cadvisor`,
    instance: `kubelet/${node.metadata.name}`,
  };
}

function sidecarTarget(pod: KubernetesObject, node: string): Target | null {
  const view = podView(pod);
  const {
    "prometheus.io/scrape": scrape,
    "prometheus.io/port": port,
    "prometheus.io/path": path = "/metrics",
  } = view.annotations;
  // A terminating pod is still read: what it counted last must not be lost.
  if (
    view.node !== node ||
    view.finished ||
    view.ip === null ||
    scrape !== "true" ||
    !/^\d{1,5}$/.test(port ?? "")
  )
    return null;
  return {
    kind: "istio",
    url: `http://${bracketed(view.ip)}:${port}${path}`,
    instance: `${view.namespace}/${view.name}`,
  };
}

function bracketed(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}

import { createInformer, KINDS, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import type { AddressFamily } from "../discovery/addresses.ts";
import { istioTarget, type IstioOptions } from "../discovery/istio.ts";
import { kubeletAddress, kubeletTargets, type KubeletOptions } from "../discovery/kubelet.ts";
import { NodeWorkloads } from "../discovery/node-workloads.ts";
import { readablePod } from "../discovery/pod.ts";
import {
  hubbleTarget,
  labelledTargets,
  linkerdTarget,
  nodeExporterTarget,
  type PodTargetRule,
} from "../discovery/pod-targets.ts";
import type { Target, TargetSource } from "../ports/ports.ts";

export interface DiscoveryOptions {
  /** Null: neither kubelets nor Node objects are read. */
  readonly kubelet: KubeletOptions | null;
  readonly istio: IstioOptions | null;
  /** namespace/service-account of pods with Linkerd proxies; empty: none. */
  readonly linkerdAccounts: readonly string[];
  /** namespace/name of Cilium's DaemonSets, whose pods serve Hubble's metrics; empty: none. */
  readonly hubbleDaemonSets: readonly string[];
  /** namespace/name of node_exporter's DaemonSets; empty: none. */
  readonly nodeExporterDaemonSets: readonly string[];
  readonly podTargets: readonly PodTargetRule[];
  readonly addressFamily: AddressFamily;
}

export const DEFAULT_DISCOVERY: DiscoveryOptions = Object.freeze({
  kubelet: { pages: ["cadvisor", "resource"] },
  istio: {
    proxyAccounts: ["*/*"],
    waypointServes: [],
    ztunnelDaemonSets: ["istio-system/ztunnel"],
  },
  linkerdAccounts: ["*/*"],
  hubbleDaemonSets: ["kube-system/cilium"],
  nodeExporterDaemonSets: [],
  podTargets: [],
  addressFamily: "primary",
} as const);

interface ClusterTargetsOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly node: string;
  readonly kubeletScheme?: "http" | "https";
  readonly discovery?: DiscoveryOptions;
}

type Informer = ReturnType<typeof createInformer>;

/** Discovers pages of the node's kubelet and pods. Keeps nothing of other nodes. */
export class ClusterTargets implements TargetSource {
  readonly #node: string;
  readonly #discovery: DiscoveryOptions;
  readonly #kubelet: KubeletOptions | null;
  readonly #clock: Clock;
  readonly #workloads = new NodeWorkloads();
  readonly #pods: Informer;
  readonly #nodes: Informer | null;

  constructor(options: ClusterTargetsOptions) {
    const { store, clock, random, logger, node, kubeletScheme = "https" } = options;
    this.#node = node;
    this.#clock = clock;
    this.#discovery = options.discovery ?? DEFAULT_DISCOVERY;
    this.#kubelet =
      this.#discovery.kubelet === null ? null : { ...this.#discovery.kubelet, scheme: kubeletScheme };
    const from = { store, clock, random, logger };
    this.#pods = createInformer({ ...from, kind: KINDS.pod, fields: { "spec.nodeName": node } });
    this.#nodes =
      this.#kubelet === null
        ? null
        : createInformer({ ...from, kind: KINDS.node, fields: { "metadata.name": node } });
  }

  async start(): Promise<void> {
    await Promise.all([this.#pods.synced(), this.#nodes?.synced()]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#pods.stop(), this.#nodes?.stop()]);
  }

  targets(): readonly Target[] {
    const pods = this.#pods.items();
    this.#workloads.take(pods, this.#clock.monotonic());
    return [...this.#kubeletTargets(), ...pods.flatMap((pod) => this.#targetsOf(pod))];
  }

  readonly #isOnNode = (namespace: string, workload: string): boolean =>
    this.#workloads.has(namespace, workload);

  #kubeletTargets(): Target[] {
    const node = this.#nodes?.get(this.#node) ?? null;
    const found = node === null ? null : kubeletAddress(node, this.#discovery.addressFamily);
    if (found === null || this.#kubelet === null) return [];
    return kubeletTargets(this.#node, found.address, found.port, this.#kubelet);
  }

  #targetsOf(object: KubernetesObject): Target[] {
    const { addressFamily, istio, linkerdAccounts, hubbleDaemonSets, nodeExporterDaemonSets, podTargets } =
      this.#discovery;
    const pod = readablePod(object, addressFamily);
    if (pod === null) return [];
    const found = [
      istio === null ? null : istioTarget(pod, istio, this.#isOnNode),
      linkerdTarget(pod, linkerdAccounts),
      hubbleTarget(pod, hubbleDaemonSets),
      nodeExporterTarget(pod, nodeExporterDaemonSets),
      ...labelledTargets(pod, podTargets),
    ];
    return found.filter((target) => target !== null);
  }
}

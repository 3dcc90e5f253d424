import type { ClusterStore } from "@isochrone/kubernetes";
import type { Clock, Logger, Part, Random } from "@isochrone/runtime";
import { ClusterTargets, type DiscoveryOptions } from "./adapters/cluster-targets.ts";
import { KubeletAccess } from "./adapters/kubelet-access.ts";
import { joinTargets, staticTargets } from "./adapters/static-targets.ts";
import { kubeletTargets, type KubeletOptions, type KubeletPage } from "./discovery/kubelet.ts";
import { podTargetRule } from "./discovery/pod-targets.ts";
import type { TargetSource } from "./ports/ports.ts";
import type { CollectorConfig } from "./settings.ts";

interface NodeTargetsDependencies {
  /** Null: no API server, so no discovery of pods, and the kubelet only by collector.nodeAddress. */
  readonly store: ClusterStore | null;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** The second page is only read while the first fails. */
const KUBELET_PAGES: readonly KubeletPage[] = ["cadvisor", "resource"];

/** The targets that the settings list or discover. Throws RangeError naming the unreadable entry. */
export function nodeTargets(
  config: CollectorConfig,
  { store, ...surroundings }: NodeTargetsDependencies,
): { readonly targets: TargetSource; readonly parts: readonly Part[] } {
  const { node, nodeAddress, kubeletPort } = config;
  const kubelet = { pages: config.kubeletPages ?? KUBELET_PAGES };
  const sources: TargetSource[] = [staticTargets(config.staticTargets)];
  if (nodeAddress !== "") {
    const known = kubeletTargets(node, nodeAddress, kubeletPort, kubelet);
    sources.push({ targets: () => known });
  }
  const options = discoveryOptions(config, nodeAddress === "" ? kubelet : null);
  if (store === null) return { targets: joinTargets(sources), parts: [] };
  const cluster = new ClusterTargets({ ...surroundings, store, node, discovery: options });
  sources.push(cluster);
  const discovery = { name: "target discovery", service: inBackground(cluster, surroundings.logger) };
  return { targets: joinTargets(sources), parts: [discovery] };
}

export function kubeletAccess(config: CollectorConfig, logger: Logger): KubeletAccess {
  const { kubeletCaFile, kubeletTokenFile, kubeletServerName, kubeletInsecureSkipVerify } = config;
  if (kubeletInsecureSkipVerify)
    logger.warn(
      "certificates of kubelets are not verified: whoever answers at a node's address gets the token",
      {
        setting: "collector.kubeletInsecureSkipVerify",
      },
    );
  return new KubeletAccess({
    caFile: kubeletCaFile || null,
    tokenFile: kubeletTokenFile || null,
    serverName: kubeletServerName.replaceAll("{node}", config.node) || null,
    insecureSkipVerify: kubeletInsecureSkipVerify,
  });
}

function discoveryOptions(config: CollectorConfig, kubelet: KubeletOptions | null): DiscoveryOptions {
  const { discover, proxyAccounts, waypointServes, ztunnelDaemonSets, addressFamily } = config;
  return {
    kubelet,
    istio: discover.includes("istio") ? { proxyAccounts, waypointServes, ztunnelDaemonSets } : null,
    linkerdAccounts: discover.includes("linkerd") ? proxyAccounts : [],
    hubbleDaemonSets: discover.includes("hubble") ? config.hubbleDaemonSets : [],
    nodeExporterDaemonSets: config.nodeExporterDaemonSets,
    podTargets: config.podTargets.map(podTargetRule),
    addressFamily,
  };
}

/** Pages known without the API server must be read while it is unavailable. */
function inBackground(cluster: ClusterTargets, logger: Logger): Part["service"] {
  return {
    start() {
      void cluster.start().then(
        () => logger.info("pages of pods are found"),
        () => undefined,
      );
    },
    stop: () => cluster.stop(),
  };
}

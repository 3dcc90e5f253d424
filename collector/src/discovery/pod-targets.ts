// Pages of pods that a setting names by label, and those of Hubble and node_exporter, which their charts make
// recognisable.
import type { PageScope } from "../domain/page-scope.ts";
import { TARGET_KINDS, type Target, type TargetKind } from "../ports/ports.ts";
import { portOf, urlOf } from "./addresses.ts";
import { runs, type ReadablePod } from "./pod.ts";
import { hasAccount, isOfDaemonSet } from "./trusted.ts";

/** Pods with this label have such a page. */
export interface PodTargetRule {
  readonly kind: TargetKind;
  /** "*": any, of Istio's pages alone; they then tell of nobody but their own pod. */
  readonly namespace: string;
  readonly label: string;
  readonly value: string;
  readonly port: number;
  readonly path: string;
}

/** An entry of collector.podTargets. */
export const POD_TARGET: RegExp = new RegExp(
  `(${TARGET_KINDS.join("|")})=([^/=\\s]+)/([^=\\s]+)=([^:\\s]*):(\\d{1,5})(/\\S*)?`,
);

/** Reads an entry of collector.podTargets. Throws RangeError naming the entry and the rule. */
export function podTargetRule(entry: string): PodTargetRule {
  const parts = new RegExp(`^${POD_TARGET.source}$`).exec(entry) ?? [];
  const [, named, namespace = "", label = "", value = "", port, path = "/metrics"] = parts;
  const kind = TARGET_KINDS.find((known) => known === named);
  const number = portOf(port);
  if (kind === undefined || number === null)
    throw new RangeError(
      `collector.podTargets must be kind=namespace/label=value:port/path, got ${JSON.stringify(entry)}`,
    );
  if (namespace === "*" && kind !== "istio")
    throw new RangeError(
      `collector.podTargets must name the namespace of pages of the kind ${kind}: in any namespace anybody can label a pod, got ${JSON.stringify(entry)}`,
    );
  return { kind, namespace, label, value, port: number, path };
}

/** The pages that the rules find on a pod. */
export function labelledTargets(pod: ReadablePod, rules: readonly PodTargetRule[]): Target[] {
  if (!runs(pod, undefined)) return [];
  return rules
    .filter(
      ({ namespace, label, value }) =>
        (namespace === "*" || namespace === pod.namespace) && pod.labels[label] === value,
    )
    .map(({ kind, namespace, port, path }) => ({
      ...podTarget(pod, kind, port, path),
      ...(namespace === "*" ? { scope: ownScope(pod), namespace: pod.namespace } : {}),
    }));
}

function ownScope({ namespace, workloads }: ReadablePod): PageScope {
  return { of: "pod", namespace, workloads, serves: [] };
}

/**
 * Hubble's page, of a pod of these DaemonSets (namespace/name), where it is switched on:
 * install/kubernetes/cilium/templates/cilium-agent/daemonset.yaml of Cilium then gives the agent a port named
 * hubble-metrics (9965). The agent runs on the node's network.
 */
export function hubbleTarget(pod: ReadablePod, daemonSets: readonly string[]): Target | null {
  if (!isOfDaemonSet(pod, daemonSets)) return null;
  const agent = pod.containers.find(({ name }) => name === "cilium-agent");
  const port = agent?.ports.find(({ name }) => name === "hubble-metrics")?.port;
  return port === undefined || !runs(pod, agent) ? null : podTarget(pod, "hubble", port, "/metrics");
}

/**
 * Names of the port in the charts prometheus-node-exporter and kube-prometheus-stack (value
 * service.portName).
 */
const NODE_EXPORTER_PORTS = ["metrics", "http-metrics"];

/**
 * node_exporter's page, of a pod of these DaemonSets (namespace/name). It runs on the node's network. One
 * behind a proxy that speaks TLS has no such port.
 */
export function nodeExporterTarget(pod: ReadablePod, daemonSets: readonly string[]): Target | null {
  if (!isOfDaemonSet(pod, daemonSets)) return null;
  for (const container of pod.containers) {
    const port = container.ports.find(({ name }) => NODE_EXPORTER_PORTS.includes(name))?.port;
    if (port !== undefined && runs(pod, container)) return podTarget(pod, "node_exporter", port, "/metrics");
  }
  return null;
}

/**
 * The page of a Linkerd proxy, of a pod under one of the service accounts. The template
 * charts/partials/templates/_proxy.tpl of linkerd/linkerd2@b24cd40 gives the container linkerd-proxy a port
 * named linkerd-admin (4191). Its rows name the far end alone: a pod tells of its own calls.
 */
export function linkerdTarget(pod: ReadablePod, accounts: readonly string[]): Target | null {
  const proxy = pod.containers.find(({ name }) => name === "linkerd-proxy");
  const port = proxy?.ports.find(({ name }) => name === "linkerd-admin")?.port;
  if (port === undefined || pod.hostNetwork || !runs(pod, proxy) || !hasAccount(pod, accounts)) return null;
  const { namespace, name } = pod;
  return {
    ...podTarget(pod, "linkerd", port, "/metrics"),
    role: "sidecar",
    namespace,
    pod: { namespace, name },
  };
}

function podTarget(
  { address, namespace, name }: ReadablePod,
  kind: TargetKind,
  port: number,
  path: string,
): Target {
  return {
    kind,
    role: "pod",
    url: urlOf("http", address, port, path),
    instance: `${namespace}/${name}:${port}`,
  };
}

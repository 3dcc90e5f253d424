// Pages of pods selected by configured labels, and of Hubble and node_exporter by their charts' names.
import type { PageScope } from "../domain/page-scope.ts";
import { TARGET_KINDS, type Target, type TargetKind } from "../ports/ports.ts";
import { portOf, urlOf } from "./addresses.ts";
import { runs, type ReadablePod } from "./pod.ts";
import { hasAccount, isOfDaemonSet } from "./trusted.ts";

export interface PodTargetRule {
  readonly kind: TargetKind;
  /** "*": any, only for Istio's pages, which then report only their own pod. */
  readonly namespace: string;
  readonly label: string;
  readonly value: string;
  readonly port: number;
  readonly path: string;
}

export const POD_TARGET: RegExp = new RegExp(
  `(${TARGET_KINDS.join("|")})=([^/=\\s]+)/([^=\\s]+)=([^:\\s]*):(\\d{1,5})(/\\S*)?`,
);

/** Throws RangeError naming entry and rule. */
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
 * Hubble's page of a pod of these DaemonSets (namespace/name), if enabled:
 * install/kubernetes/cilium/templates/cilium-agent/daemonset.yaml of Cilium then has a port hubble-metrics
 * (9965), on the node's network.
 */
export function hubbleTarget(pod: ReadablePod, daemonSets: readonly string[]): Target | null {
  if (!isOfDaemonSet(pod, daemonSets)) return null;
  const agent = pod.containers.find(({ name }) => name === "cilium-agent");
  const port = agent?.ports.find(({ name }) => name === "hubble-metrics")?.port;
  return port === undefined || !runs(pod, agent) ? null : podTarget(pod, "hubble", port, "/metrics");
}

/** Port names in the charts prometheus-node-exporter and kube-prometheus-stack (value service.portName). */
const NODE_EXPORTER_PORTS = ["metrics", "http-metrics"];

/** node_exporter's page, on the node's network. Behind a TLS proxy the pod has no such port. */
export function nodeExporterTarget(pod: ReadablePod, daemonSets: readonly string[]): Target | null {
  if (!isOfDaemonSet(pod, daemonSets)) return null;
  for (const container of pod.containers) {
    const port = container.ports.find(({ name }) => NODE_EXPORTER_PORTS.includes(name))?.port;
    if (port !== undefined && runs(pod, container)) return podTarget(pod, "node_exporter", port, "/metrics");
  }
  return null;
}

/**
 * Page of a Linkerd proxy in pods of these service accounts. The template
 * charts/partials/templates/_proxy.tpl of linkerd/linkerd2@b24cd40 names port 4191 of container linkerd-proxy
 * linkerd-admin. Rows only name the far end: a pod reports its own calls.
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

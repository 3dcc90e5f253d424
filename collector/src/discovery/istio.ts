// Metrics pages of Istio's proxies, by its 1.30.0 templates:
// - sidecars: manifests/charts/istio-control/istio-discovery/files/injection-template.yaml, container
// istio-proxy (a restartable init container for native sidecars), port 15090 named http-envoy-prom;
// - the agent's page, merged with the application's: pkg/kube/inject/webhook.go applyPrometheusMerge sets the
// annotations prometheus.io/scrape=true, /port=15020, /path=/stats/prometheus;
// - gateways of the chart: the same container, and annotation inject.istio.io/templates=gateway;
// - waypoints and gateways of the Gateway API: files/waypoint.yaml and files/kube-gateway.yaml, both of the
// above, and label gateway.networking.k8s.io/gateway-class-name (until 1.19 only istio.io/gateway-name);
// - ztunnel: manifests/charts/ztunnel/templates/daemonset.yaml, DaemonSet ztunnel, port 15020 named
// ztunnel-stats.
// Anybody can use these names, so a page's scope limits whose traffic it may report.
import type { NodeScope, PageScope } from "../domain/page-scope.ts";
import type { Target, TargetRole } from "../ports/ports.ts";
import { portOf, urlOf } from "./addresses.ts";
import { runs, type PodContainer, type ReadablePod } from "./pod.ts";
import { hasAccount, isOfDaemonSet, servedBy } from "./trusted.ts";

export interface IstioOptions {
  /** namespace/service-account of pods whose proxies are read, "*" for any. */
  readonly proxyAccounts: readonly string[];
  /** namespace=namespace: further namespaces that the waypoints of the first serve. */
  readonly waypointServes: readonly string[];
  /** namespace/name of ztunnel's DaemonSets. */
  readonly ztunnelDaemonSets: readonly string[];
}

const STATS_PATH = "/stats/prometheus";
const PROXY = "istio-proxy";
const ENVOY_PORT = /-envoy-prom$/;
const ZTUNNEL_PORT = 15_020;
const GATEWAY_NAMES = ["gateway.networking.k8s.io/gateway-name", "istio.io/gateway-name"];

/** Null without a usable or running proxy. @param onNode tells which workloads are on the pod's node */
export function istioTarget(
  pod: ReadablePod,
  options: IstioOptions,
  onNode: NodeScope["runs"],
): Target | null {
  return isOfDaemonSet(pod, options.ztunnelDaemonSets)
    ? ztunnelTarget(pod, onNode)
    : proxyTarget(pod, options);
}

/** Installed by an operator, but only trusted for pods of its node. */
function ztunnelTarget(pod: ReadablePod, onNode: NodeScope["runs"]): Target | null {
  const proxy = proxyOf(pod);
  if (!runs(pod, proxy)) return null;
  const named = proxy?.ports.find(({ name }) => name === "ztunnel-stats")?.port;
  const port = named ?? portOf(pod.annotations["prometheus.io/port"]) ?? ZTUNNEL_PORT;
  return target(pod, "ztunnel", port, { of: "node", runs: onNode });
}

/** Istio doesn't inject into host-network pods, whose page would be at the node's address. */
function proxyTarget(pod: ReadablePod, options: IstioOptions): Target | null {
  const proxy = proxyOf(pod);
  if (pod.hostNetwork || !runs(pod, proxy) || !hasAccount(pod, options.proxyAccounts)) return null;
  // Envoy's own page has no rows of the application.
  const port = proxy?.ports.find(({ name }) => ENVOY_PORT.test(name))?.port ?? mergedPort(pod);
  if (port === null) return null;
  const { namespace, workloads } = pod;
  const role = roleOf(pod);
  const serves = role === "waypoint" ? servedBy(namespace, options.waypointServes) : [];
  return { ...target(pod, role, port, { of: "pod", namespace, workloads, serves }), namespace };
}

function proxyOf({ containers }: ReadablePod): PodContainer | undefined {
  return containers.find(({ name }) => name === PROXY);
}

/** Only if annotated so. Other annotated pages are the application's own, without mesh metrics. */
function mergedPort({ annotations }: ReadablePod): number | null {
  const says = annotations["prometheus.io/scrape"] === "true";
  return says && annotations["prometheus.io/path"] === STATS_PATH
    ? portOf(annotations["prometheus.io/port"])
    : null;
}

function roleOf({ labels, annotations }: ReadablePod): TargetRole {
  const gatewayClass = labels["gateway.networking.k8s.io/gateway-class-name"] ?? "";
  if (/^istio-(?:.*-)?waypoint$/.test(gatewayClass)) return "waypoint";
  const named = GATEWAY_NAMES.some((label) => labels[label] !== undefined);
  return named || annotations["inject.istio.io/templates"] === "gateway" ? "gateway" : "sidecar";
}

function target(
  { address, namespace, name }: ReadablePod,
  role: TargetRole,
  port: number,
  scope: PageScope,
): Target {
  return {
    scope,
    kind: "istio",
    role,
    url: urlOf("http", address, port, STATS_PATH),
    instance: `${namespace}/${name}`,
  };
}

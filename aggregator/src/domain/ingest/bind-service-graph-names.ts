// Who the ends of a service graph's edge are: traces and flows name services and pods' owners in several
// ways, the graph names workloads.
import type { Attributes } from "@isochrone/telemetry";
import { OUTSIDE_NAMESPACE, outsideNameOf } from "@isochrone/telemetry/outside";
import { channelBetween, UNKNOWN_OUTSIDE, type ChannelEnd, type ChannelKey } from "../channel-key.ts";
import { knownName, textOf, type Labels } from "../text.ts";

/** Labels of Hubble's `labelsContext` that name the ends. */
export type HubbleEnds = Labels<
  | "source_namespace"
  | "source_workload"
  | "source_app"
  | "destination_namespace"
  | "destination_workload"
  | "destination_app"
>;

/** A name as Kubernetes takes it. */
const LABEL = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?";
const SLASHED = new RegExp(`^(?<namespace>${LABEL})/(?<name>${LABEL}(?:\\.${LABEL})*)$`);
/** As services are called in a cluster: name.namespace.svc, with or without the cluster's domain. */
const SERVICE = new RegExp(`^(?<name>${LABEL})\\.(?<namespace>${LABEL})\\.svc(?:\\.[a-z0-9.-]+)?$`);
const DOTTED = new RegExp(`^(?<name>${LABEL})\\.(?<namespace>${LABEL})$`);
const PLAIN = new RegExp(`^${LABEL}$`);

/**
 * How far a name is believed: the name of a service that sent spans; the name that a client has for its peer,
 * which may be any host, so that it must say that it means a service of a cluster; a name of something else,
 * so that only dimensions count.
 */
export type NameKind = "service" | "peer" | "other";

/** Resource attributes that name a pod's owner, best first. */
const OWNER_ATTRIBUTES = [
  "k8s.deployment.name",
  "k8s.statefulset.name",
  "k8s.daemonset.name",
  "k8s.cronjob.name",
  "k8s.job.name",
];
const NAMESPACE_ATTRIBUTES = ["k8s.namespace.name", "service.namespace"];

const CLUSTER_ATTRIBUTES = ["k8s.cluster.name"];

/** Notes the cluster of an end, and returns whether it is another one. */
export type EdgeClusters = (cluster: string, namespace: string) => boolean;

/**
 * The channel of a service graph connector's edge. An end that is no workload of this cluster is outside;
 * null: both are. "other_cluster": the edge is one of another cluster.
 * @param kinds how far the names are believed; null: the client is no workload
 */
export function edgeOf(
  attributes: Attributes,
  kinds: { readonly client: NameKind | null; readonly server: NameKind },
  clusters: EdgeClusters,
): ChannelKey | "other_cluster" | null {
  const [client, server] = (["client", "server"] as const).map((end) => {
    const kind = kinds[end];
    const workload = kind === null ? null : endOf(end, attributes, kind);
    const cluster = knownName(dimension(end, CLUSTER_ATTRIBUTES, attributes) ?? undefined);
    const isOther = cluster !== null && clusters(cluster, workload?.namespace ?? "");
    return isOther ? { elsewhere: cluster } : workload;
  });
  const isElsewhere = [client, server].some((end) => end !== null && end !== undefined && "elsewhere" in end);
  const [source, target] = [placed(client), placed(server)];
  if (source.namespace !== OUTSIDE_NAMESPACE || target.namespace !== OUTSIDE_NAMESPACE)
    return channelBetween(source, target);
  return isElsewhere ? "other_cluster" : null;
}

function placed(end: ChannelEnd | { readonly elsewhere: string } | null | undefined): ChannelEnd {
  if (end === null || end === undefined) return UNKNOWN_OUTSIDE;
  return "elsewhere" in end ? { namespace: OUTSIDE_NAMESPACE, workload: outsideNameOf(end.elsewhere) } : end;
}

/**
 * Dimensions are what the connector was told to copy from the spans' resources; they know more than the name
 * does.
 */
function endOf(end: "client" | "server", attributes: Attributes, kind: NameKind): ChannelEnd | null {
  const namespace = dimension(end, NAMESPACE_ATTRIBUTES, attributes);
  const owner = dimension(end, OWNER_ATTRIBUTES, attributes);
  if (namespace !== null && owner !== null) return { namespace, workload: owner };
  const name = kind === "other" ? null : textOf(attributes[end]);
  if (name === null) return null;
  if (namespace !== null && PLAIN.test(name)) return { namespace, workload: name };
  return qualified(name, kind === "peer" ? [SLASHED, SERVICE] : [SLASHED, SERVICE, DOTTED]);
}

/** The first form that fits. */
function qualified(text: string, forms: readonly RegExp[]): ChannelEnd | null {
  for (const form of forms) {
    const { namespace, name } = form.exec(text)?.groups ?? {};
    if (namespace !== undefined && name !== undefined) return { namespace, workload: name };
  }
  return null;
}

/** By its own name as OTLP carries it, or as Prometheus' labels spell it. */
function dimension(
  end: "client" | "server",
  names: readonly string[],
  attributes: Attributes,
): string | null {
  for (const name of names) {
    const key = `${end}_${name}`;
    const value = textOf(attributes[key]) ?? textOf(attributes[key.replaceAll(".", "_")]);
    if (value !== null) return value;
  }
  return null;
}

/**
 * The ends by labels of `labelsContext`; one that they don't name is outside. Null: they name neither.
 * `source` and `destination` are not taken: a setting of Cilium's says what they hold.
 */
export function hubbleEnds(labels: HubbleEnds): ChannelKey | null {
  const source = workloadOf(labels.source_namespace, labels.source_workload, labels.source_app);
  const target = workloadOf(
    labels.destination_namespace,
    labels.destination_workload,
    labels.destination_app,
  );
  return source === null && target === null ? null : channelBetween(placed(source), placed(target));
}

type Label = HubbleEnds[keyof HubbleEnds];

function workloadOf(namespaceLabel: Label, workloadLabel: Label, app: Label): ChannelEnd | null {
  const namespace = textOf(namespaceLabel);
  const workload = textOf(workloadLabel) ?? textOf(app);
  return namespace === null || workload === null ? null : { namespace, workload };
}

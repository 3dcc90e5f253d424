// Resolves the names of service graph edges, which are services or owners of pods, to workloads.
import type { Attributes } from "@isochrone/telemetry";
import { OUTSIDE_NAMESPACE, outsideNameOf } from "@isochrone/telemetry/outside";
import { channelBetween, UNKNOWN_OUTSIDE, type ChannelEnd, type ChannelKey } from "../channel-key.ts";
import { knownName, textOf, type Labels } from "../text.ts";

export type HubbleEnds = Labels<
  | "source_namespace"
  | "source_workload"
  | "source_app"
  | "destination_namespace"
  | "destination_workload"
  | "destination_app"
>;

const LABEL = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?";
const SLASHED = new RegExp(`^(?<namespace>${LABEL})/(?<name>${LABEL}(?:\\.${LABEL})*)$`);
/** Service host name: name.namespace.svc, with or without the cluster domain. */
const SERVICE = new RegExp(`^(?<name>${LABEL})\\.(?<namespace>${LABEL})\\.svc(?:\\.[a-z0-9.-]+)?$`);
const DOTTED = new RegExp(`^(?<name>${LABEL})\\.(?<namespace>${LABEL})$`);
const PLAIN = new RegExp(`^${LABEL}$`);

/**
 * Trust in a name. "service": a service that sent spans. "peer": a client's name for its peer, which may be
 * any host and must be a Service host name. "other": not a workload, so only dimensions count.
 */
export type NameKind = "service" | "peer" | "other";

const OWNER_ATTRIBUTES = [
  "k8s.deployment.name",
  "k8s.statefulset.name",
  "k8s.daemonset.name",
  "k8s.cronjob.name",
  "k8s.job.name",
];
const NAMESPACE_ATTRIBUTES = ["k8s.namespace.name", "service.namespace"];

const CLUSTER_ATTRIBUTES = ["k8s.cluster.name"];

/** Records the cluster of an end. Returns true if it is another cluster. */
export type EdgeClusters = (cluster: string, namespace: string) => boolean;

/**
 * Channel of a service graph edge. An end that is no workload of this cluster is external; null: both are.
 * "other_cluster": the edge belongs to another cluster.
 * @param kinds trust in the names; null: the client is no workload
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

/** Dimensions are copied from the spans' resources and take precedence over the name. */
function endOf(end: "client" | "server", attributes: Attributes, kind: NameKind): ChannelEnd | null {
  const namespace = dimension(end, NAMESPACE_ATTRIBUTES, attributes);
  const owner = dimension(end, OWNER_ATTRIBUTES, attributes);
  if (namespace !== null && owner !== null) return { namespace, workload: owner };
  const name = kind === "other" ? null : textOf(attributes[end]);
  if (name === null) return null;
  if (namespace !== null && PLAIN.test(name)) return { namespace, workload: name };
  return qualified(name, kind === "peer" ? [SLASHED, SERVICE] : [SLASHED, SERVICE, DOTTED]);
}

function qualified(text: string, forms: readonly RegExp[]): ChannelEnd | null {
  for (const form of forms) {
    const { namespace, name } = form.exec(text)?.groups ?? {};
    if (namespace !== undefined && name !== undefined) return { namespace, workload: name };
  }
  return null;
}

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
 * Ends by the labels of `labelsContext`; a missing one is external. Returns null if both are missing. Ignores
 * `source` and `destination`, whose content depends on a Cilium setting.
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

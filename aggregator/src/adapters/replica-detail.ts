// What is kept of each pod: of all that an aggregator holds there are most of these.
import {
  EGRESS_BANDWIDTH,
  gatesOf,
  INGRESS_BANDWIDTH,
  KINDS,
  LABELS,
  pickedFields,
  STREAM_TASK_LABEL,
  trimmedPod,
  type KubernetesObject,
  type ObjectMeta,
  type OwnerReference,
  type PodStatus,
} from "@isochrone/kubernetes";
import { isList, looseFields } from "@isochrone/primitives";
import { PROBE_LABEL, PROBE_NAME } from "./pod-probe-addresses.ts";

/** By which Istio's control plane marks the waypoints and gateways that it makes. */
export const MESH_PROXY_LABELS: readonly string[] = [
  "gateway.networking.k8s.io/gateway-name",
  "istio.io/gateway-name",
];

/** What names a pod's workflow and its place in an AppGroup, and what marks the proxies of a mesh. */
const READ_LABELS: readonly string[] = [
  ...MESH_PROXY_LABELS,
  LABELS.workflow,
  LABELS.appGroup,
  LABELS.appGroupWorkload,
  LABELS.partOf,
];
const READ_ANNOTATIONS = [INGRESS_BANDWIDTH, EGRESS_BANDWIDTH];

const TEMPLATE_HASH = "pod-template-hash";

/** Beyond so many texts the sharing begins anew: nothing is lost but some memory. */
const MAX_SHARED = 65_536;
const shared = new Map<string, string>();

/**
 * Whose replica a pod is, where it runs, its addresses, and until when it counts. A pod that waits behind a
 * gate is kept with all that is told of it, until the gate is open.
 */
export function trimmedReplica(pod: KubernetesObject): KubernetesObject {
  if (gatesOf(pod).length > 0) return trimmedPod(pod);
  const { apiVersion, kind, metadata, spec = {}, status = {} } = pod;
  const { nodeName, hostNetwork } = spec;
  return {
    apiVersion: sharedText(apiVersion),
    kind: sharedText(kind),
    metadata: replicaMetadata(metadata),
    spec: {
      ...(typeof nodeName === "string" ? { nodeName: sharedText(nodeName) } : {}),
      ...(hostNetwork === true ? { hostNetwork } : {}),
    },
    // On the node's network the address is the node's: only a probe's is asked for.
    status: phaseOf(status, hostNetwork !== true || isProbe(metadata)),
  };
}

function replicaMetadata(metadata: ObjectMeta): ObjectMeta {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  const labels = readOf(metadata.labels, [
    ...READ_LABELS,
    ...(owner?.kind === "ReplicaSet" ? [TEMPLATE_HASH] : []),
    ...(owner?.kind === KINDS.streamJob.kind ? [STREAM_TASK_LABEL] : []),
    ...(isProbe(metadata) ? [PROBE_LABEL] : []),
  ]);
  const annotations = readOf(metadata.annotations, READ_ANNOTATIONS);
  const { name, namespace } = metadata;
  return {
    name,
    ...(namespace === undefined ? {} : { namespace: sharedText(namespace) }),
    ...pickedFields({ ...metadata }, ["uid", "resourceVersion", "deletionTimestamp"]),
    ...(labels === null ? {} : { labels }),
    ...(annotations === null ? {} : { annotations }),
    ...(owner === undefined ? {} : { ownerReferences: [sharedOwner(owner)] }),
  };
}

function isProbe({ labels }: ObjectMeta): boolean {
  return labels?.[PROBE_LABEL] === PROBE_NAME;
}

function phaseOf(status: Readonly<Record<string, unknown>>, keepsAddress: boolean): Record<string, unknown> {
  const { phase } = status;
  const kept = typeof phase === "string" ? { phase: sharedText(phase) } : {};
  if (!keepsAddress) return kept;
  const { podIPs } = looseFields<PodStatus>(status);
  const isDual = isList(podIPs) && podIPs.length > 1;
  return { ...kept, ...pickedFields(status, isDual ? ["podIP", "podIPs"] : ["podIP"]) };
}

/** Null: none of them is there. */
function readOf(
  texts: Readonly<Record<string, string>> | undefined,
  keys: readonly string[],
): Record<string, string> | null {
  let read: Record<string, string> | null = null;
  for (const key of keys) {
    const text = texts?.[key];
    if (typeof text === "string") (read ??= {})[key] = sharedText(text);
  }
  return read;
}

function sharedOwner({ apiVersion, kind, name, uid, controller }: OwnerReference): OwnerReference {
  return {
    apiVersion: sharedText(apiVersion),
    kind: sharedText(kind),
    name: sharedText(name),
    uid: sharedText(uid),
    ...(controller === undefined ? {} : { controller }),
  };
}

/** One copy of what many pods say: each comes as a text of its own. */
function sharedText(text: string): string {
  const known = shared.get(text);
  if (known !== undefined) return known;
  if (shared.size >= MAX_SHARED) shared.clear();
  shared.set(text, text);
  return text;
}

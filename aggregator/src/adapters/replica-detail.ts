// The fields kept per pod. Pods are the most numerous objects, so keep few.
import {
  ALIAS_ANNOTATIONS,
  ALIAS_LABELS,
  EGRESS_BANDWIDTH,
  gatesOf,
  hasCondition,
  INGRESS_BANDWIDTH,
  LABELS,
  pickedFields,
  trimmedPod,
  WORKLOAD_LABELS,
  workloadOf,
  type KubernetesObject,
  type ObjectMeta,
  type OwnerReference,
  type PodStatus,
} from "@isochrone/kubernetes";
import { isList, looseFields } from "@isochrone/primitives";
import { MESH_PROXY_LABELS } from "./cluster-reader.ts";
import { PROBE_LABEL, PROBE_NAME } from "./pod-probe-addresses.ts";

const READ_LABELS: readonly string[] = [
  ...MESH_PROXY_LABELS,
  LABELS.workflow,
  LABELS.appGroup,
  LABELS.appGroupWorkload,
  LABELS.partOf,
];
const READ_ANNOTATIONS = [INGRESS_BANDWIDTH, EGRESS_BANDWIDTH];

/** Entries of the interning cache. A full cache is cleared, which costs memory only. */
const MAX_SHARED = 65_536;
const shared = new Map<string, string>();

/** Keeps a pod's owner, node, addresses and end. A gated pod keeps all fields until its gates open. */
export function trimmedReplica(pod: KubernetesObject): KubernetesObject {
  if (gatesOf(pod).length > 0) return trimmedPod(pod);
  const { apiVersion, kind, metadata, spec = {}, status = {} } = pod;
  const { nodeName, hostNetwork } = spec;
  return {
    apiVersion: sharedText(apiVersion),
    kind: sharedText(kind),
    metadata: replicaMetadata(metadata, workloadOf(pod).name),
    spec: {
      ...(typeof nodeName === "string" ? { nodeName: sharedText(nodeName) } : {}),
      ...(hostNetwork === true ? { hostNetwork } : {}),
    },
    // On the host network the address is the node's, and only a probe's is used.
    status: {
      ...phaseOf(status, hostNetwork !== true || isProbe(metadata)),
      ...(hasCondition(pod, "Ready") ? { conditions: READY } : {}),
    },
  };
}

const READY = [{ type: "Ready", status: "True" }] as const;

function replicaMetadata(metadata: ObjectMeta, workload: string): ObjectMeta {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  const isOther = (text: string): boolean => text !== workload;
  const labels = {
    ...readOf(metadata.labels, READ_LABELS),
    ...(owner === undefined ? null : readOf(metadata.labels, WORKLOAD_LABELS)),
    ...(isProbe(metadata) ? readOf(metadata.labels, [PROBE_LABEL]) : null),
    ...readOf(metadata.labels, ALIAS_LABELS, isOther),
  };
  const annotations = {
    ...readOf(metadata.annotations, READ_ANNOTATIONS),
    ...readOf(metadata.annotations, ALIAS_ANNOTATIONS, isOther),
  };
  const { name, namespace } = metadata;
  return {
    name,
    ...(namespace === undefined ? {} : { namespace: sharedText(namespace) }),
    ...pickedFields({ ...metadata }, ["uid", "resourceVersion", "deletionTimestamp"]),
    ...(isEmpty(labels) ? {} : { labels }),
    ...(isEmpty(annotations) ? {} : { annotations }),
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

function readOf(
  texts: Readonly<Record<string, string>> | undefined,
  keys: readonly string[],
  isRead: (text: string) => boolean = () => true,
): Record<string, string> | null {
  let read: Record<string, string> | null = null;
  for (const key of keys) {
    const text = texts?.[key];
    if (typeof text === "string" && isRead(text)) (read ??= {})[key] = sharedText(text);
  }
  return read;
}

function isEmpty(texts: Readonly<Record<string, string>>): boolean {
  for (const _ in texts) return false;
  return true;
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

/** Interns a text: each pod's JSON brings its own copy. */
function sharedText(text: string): string {
  const known = shared.get(text);
  if (known !== undefined) return known;
  if (shared.size >= MAX_SHARED) shared.clear();
  shared.set(text, text);
  return text;
}

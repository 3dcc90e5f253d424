// What is kept of each pod: of all that an aggregator holds there are most of these.
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

/** Labels of a pod's workflow and of its place in an AppGroup, and those that mark proxies of a mesh. */
const READ_LABELS: readonly string[] = [
  ...MESH_PROXY_LABELS,
  LABELS.workflow,
  LABELS.appGroup,
  LABELS.appGroupWorkload,
  LABELS.partOf,
];
const READ_ANNOTATIONS = [INGRESS_BANDWIDTH, EGRESS_BANDWIDTH];

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
    metadata: replicaMetadata(metadata, workloadOf(pod).name),
    spec: {
      ...(typeof nodeName === "string" ? { nodeName: sharedText(nodeName) } : {}),
      ...(hostNetwork === true ? { hostNetwork } : {}),
    },
    // On the node's network the address is the node's: only a probe's is asked for.
    status: {
      ...phaseOf(status, hostNetwork !== true || isProbe(metadata)),
      ...(hasCondition(pod, "Ready") ? { conditions: READY } : {}),
    },
  };
}

/** One object for all pods that are ready. */
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

/** Null: none of them is there. */
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

/** One copy of what many pods say: each comes as a text of its own. */
function sharedText(text: string): string {
  const known = shared.get(text);
  if (known !== undefined) return known;
  if (shared.size >= MAX_SHARED) shared.clear();
  shared.set(text, text);
  return text;
}

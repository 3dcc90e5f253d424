// Which pods get the gate. Pure: everything is in the pod, in its AppGroup, and in how the webhook came to be
// asked.
import {
  gatesOf,
  PLACEMENT_DISABLED,
  PLACEMENT_ENABLED,
  PLACEMENT_GATE,
  PLACEMENT_LABEL,
} from "@isochrone/kubernetes";
import { gangOf } from "@isochrone/placement";
import { looseFields, looseList, looseText } from "@isochrone/primitives";
import type { KubernetesObject, PodSpec } from "@isochrone/kubernetes";
import type { WebhookConfig } from "./settings.ts";

/**
 * By which of its entries the API server calls the webhook: it has matched the selectors itself, on the
 * newest labels of the namespace, which no cache of ours could know as well.
 */
const ENTRIES = ["namespace", "pod", "app-group"] as const;
export type Entry = (typeof ENTRIES)[number];

/** By what the API server may call: about pods by one of the entries, or about EndpointSlices. */
export const REVIEW_PATHS = [...ENTRIES, "endpoint-slices"] as const;
export type ReviewPath = (typeof REVIEW_PATHS)[number];

/** Why a pod is left as it is. */
export type Exclusion =
  | "excluded_namespace"
  | "daemon_set"
  | "static_pod"
  | "has_node"
  | "other_scheduler"
  | "system_priority"
  | "not_asked"
  | "gang"
  | "already_gated";

export interface GateRules {
  /** Pods of other schedulers are left to those. */
  readonly schedulerNames: ReadonlySet<string>;
  /** kube-system, our own, that of the canaries, and those of the settings. */
  readonly excludedNamespaces: ReadonlySet<string>;
}

/** @param own namespaces of our own */
export function gateRulesOf(
  { schedulerNames, excludedNamespaces }: Pick<WebhookConfig, "excludedNamespaces" | "schedulerNames">,
  own: readonly string[],
): GateRules {
  return {
    schedulerNames: new Set(schedulerNames),
    excludedNamespaces: new Set(["kube-system", ...own, ...excludedNamespaces]),
  };
}

interface AskedPod {
  readonly pod: KubernetesObject;
  readonly namespace: string;
  readonly entry: Entry;
  /** That the pod's label names; null: none, or unknown. */
  readonly appGroup: KubernetesObject | null;
}

/** Annotation of static pods. */
export const MIRROR = "kubernetes.io/config.mirror";
const DEFAULT_SCHEDULER = "default-scheduler";
const SYSTEM_PRIORITY = "system-";

/**
 * Why the pod must not wait for us; null: it may. What must run wherever it is put, or before anything else
 * runs, never waits.
 */
export function exclusionOf(asked: AskedPod, rules: GateRules): Exclusion | null {
  const { pod, namespace } = asked;
  const spec = looseFields<PodSpec>(pod.spec);
  if (rules.excludedNamespaces.has(namespace)) return "excluded_namespace";
  if (pod.metadata.annotations?.[MIRROR] !== undefined) return "static_pod";
  if (looseList(pod.metadata.ownerReferences).some(({ kind }) => kind === "DaemonSet")) return "daemon_set";
  if (looseText(spec.nodeName) !== "") return "has_node";
  if (!rules.schedulerNames.has(looseText(spec.schedulerName) || DEFAULT_SCHEDULER)) return "other_scheduler";
  if (looseText(spec.priorityClassName).startsWith(SYSTEM_PRIORITY)) return "system_priority";
  if (!isAsked(asked)) return "not_asked";
  if (gatesOf(pod).includes(PLACEMENT_GATE)) return "already_gated";
  // kube-scheduler may keep the nodes of the others for one that waits at a gate.
  return gangOf(pod) === null ? null : "gang";
}

/** The pod's own word counts most, then its AppGroup's, then its namespace's. */
function isAsked({ pod, entry, appGroup }: AskedPod): boolean {
  const words = [wordOf(pod), appGroup === null ? null : wordOf(appGroup)];
  const word = words.find((each) => each === PLACEMENT_ENABLED || each === PLACEMENT_DISABLED);
  return word === undefined ? entry === "namespace" : word === PLACEMENT_ENABLED;
}

function wordOf({ metadata }: KubernetesObject): string | null {
  return metadata.labels?.[PLACEMENT_LABEL] ?? null;
}

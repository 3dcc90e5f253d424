// Decides which pods get the gate, from the pod, its AppGroup and the registration entry. Pure.
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

/** Registration entries. The API server matches selectors itself, on newer labels than any cache has. */
const ENTRIES = ["namespace", "pod", "app-group"] as const;
export type Entry = (typeof ENTRIES)[number];

export const REVIEW_PATHS = [...ENTRIES, "endpoint-slices"] as const;
export type ReviewPath = (typeof REVIEW_PATHS)[number];

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
  readonly schedulerNames: ReadonlySet<string>;
  /** kube-system, our own, the canaries', and configured ones. */
  readonly excludedNamespaces: ReadonlySet<string>;
}

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
  readonly appGroup: KubernetesObject | null;
}

export const MIRROR = "kubernetes.io/config.mirror";
const DEFAULT_SCHEDULER = "default-scheduler";
const SYSTEM_PRIORITY = "system-";

/** Why the pod must not wait; null if it may. Pods that run regardless of place, or first, never wait. */
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
  // kube-scheduler may hold nodes of a gang's other pods for one that waits at a gate.
  return gangOf(pod) === null ? null : "gang";
}

/** The pod's setting precedes its AppGroup's, which precedes its namespace's. */
function isAsked({ pod, entry, appGroup }: AskedPod): boolean {
  const words = [wordOf(pod), appGroup === null ? null : wordOf(appGroup)];
  const word = words.find((each) => each === PLACEMENT_ENABLED || each === PLACEMENT_DISABLED);
  return word === undefined ? entry === "namespace" : word === PLACEMENT_ENABLED;
}

function wordOf({ metadata }: KubernetesObject): string | null {
  return metadata.labels?.[PLACEMENT_LABEL] ?? null;
}

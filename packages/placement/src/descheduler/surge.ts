import { countOf, fieldsOf, listOf, textOf } from "./cluster-object.ts";
import type { ClusterObject } from "./cluster-object.ts";

interface SurgeCandidate {
  readonly pod: ClusterObject;
  /** The Deployment above the ReplicaSet. Other kinds and null can't surge. */
  readonly workload: ClusterObject | null;
}

const DEFAULT_MAX_SURGE = "25%";
/** A ReplicaSet releases a pod that loses this label. */
const TEMPLATE_HASH = "pod-template-hash";
const HOSTNAME = "kubernetes.io/hostname";

/**
 * Whether the replacement can start before the pod ends. This requires a surging rolling update, and no node,
 * volume or topology domain shared by pod and replacement.
 */
export function canSurge({ pod, workload }: SurgeCandidate): boolean {
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner?.kind !== "ReplicaSet" || workload?.kind !== "Deployment") return false;
  if (pod.metadata.labels?.[TEMPLATE_HASH] === undefined) return false;
  return surgesByStrategy(workload) && !hasClaim(pod) && !limitsItsDomain(pod);
}

/** Percentages are rounded up, so any positive one allows an extra pod. */
function surgesByStrategy({ spec }: ClusterObject): boolean {
  const { type, rollingUpdate } = fieldsOf<"type" | "rollingUpdate">(fieldsOf<"strategy">(spec).strategy);
  if (textOf(type) !== "" && type !== "RollingUpdate") return false;
  const { maxSurge = DEFAULT_MAX_SURGE } = fieldsOf<"maxSurge">(rollingUpdate);
  const pods = typeof maxSurge === "string" ? Number(/^(\d+)%$/.exec(maxSurge)?.[1] ?? 0) : countOf(maxSurge);
  return pods !== null && pods > 0;
}

function hasClaim({ spec }: ClusterObject): boolean {
  return listOf<"persistentVolumeClaim" | "ephemeral">(fieldsOf<"volumes">(spec).volumes).some(
    ({ persistentVolumeClaim, ephemeral }) => persistentVolumeClaim !== undefined || ephemeral !== undefined,
  );
}

/**
 * Whether an extra pod can violate the template's rules while the old one runs. Per-node rules don't matter:
 * the replacement goes to another node.
 */
function limitsItsDomain({ spec }: ClusterObject): boolean {
  const { affinity, topologySpreadConstraints } = fieldsOf<"affinity" | "topologySpreadConstraints">(spec);
  const required = listOf<"topologyKey">(
    fieldsOf<"requiredDuringSchedulingIgnoredDuringExecution">(
      fieldsOf<"podAntiAffinity">(affinity).podAntiAffinity,
    ).requiredDuringSchedulingIgnoredDuringExecution,
  );
  return (
    required.some(({ topologyKey }) => topologyKey !== HOSTNAME) ||
    listOf<"whenUnsatisfiable">(topologySpreadConstraints).some(
      ({ whenUnsatisfiable }) => whenUnsatisfiable !== "ScheduleAnyway",
    )
  );
}

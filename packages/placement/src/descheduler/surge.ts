// Which pods can be replaced before they are evicted. Pure: objects come in as arguments.
import { countOf, fieldsOf, listOf, textOf } from "./cluster-object.ts";
import type { ClusterObject } from "./cluster-object.ts";

interface SurgeCandidate {
  readonly pod: ClusterObject;
  /** The Deployment above the pod's ReplicaSet; anything else, or null, can't surge. */
  readonly workload: ClusterObject | null;
}

/** The API server's default for a Deployment that names no maxSurge. */
const DEFAULT_MAX_SURGE = "25%";
/** Its ReplicaSet lets the pod go when this label does. */
const TEMPLATE_HASH = "pod-template-hash";
const HOSTNAME = "kubernetes.io/hostname";

/**
 * Whether a replacement may run beside the pod for a while: the Deployment's own rolling update would start
 * one first, and nothing ties the two to the same node, volume or topology domain.
 */
export function canSurge({ pod, workload }: SurgeCandidate): boolean {
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner?.kind !== "ReplicaSet" || workload?.kind !== "Deployment") return false;
  if (pod.metadata.labels?.[TEMPLATE_HASH] === undefined) return false;
  return surgesByStrategy(workload) && !hasClaim(pod) && !limitsItsDomain(pod);
}

/** A percentage is rounded up, so any positive one allows at least one pod more. */
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
 * Whether one pod more can break a rule of the template: it counts the old pod as long as it runs. A rule per
 * node doesn't matter, since the replacement goes to another one.
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

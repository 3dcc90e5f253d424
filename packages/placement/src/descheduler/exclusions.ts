// Pods that are never moved, as in cluster-autoscaler, Karpenter and the Kubernetes descheduler. Pure.
import { gangOf } from "../feasibility/gangs.ts";
import { ageMsOf, countOf, fieldsOf, isTrue, listOf, textOf } from "./cluster-object.ts";
import type { Named } from "../feasibility/objects/fields.ts";
import type { ClusterObject } from "./cluster-object.ts";
import { canSurge } from "./surge.ts";

export const EXCLUSION_REASONS = [
  "terminating",
  "static_pod",
  "bare_pod",
  "daemon_set",
  "job",
  "stateful_set",
  "unknown_controller",
  "gang",
  "system_priority",
  "do_not_disrupt",
  "not_safe_to_evict",
  "prefer_no_eviction",
  "local_storage",
  "pinned_volume",
  "not_opted_in",
  "single_replica",
  "rollout",
  "replicas_not_ready",
  "pod_not_ready",
  "too_young",
  "in_flight",
  "cool_down",
] as const;
export type ExclusionReason = (typeof EXCLUSION_REASONS)[number];

interface Exclusion {
  readonly reason: ExclusionReason;
  readonly detail: string;
}

export interface ExclusionRules {
  /** Minimum age of a pod and of its workload, milliseconds. */
  readonly minPodAgeMs: number;
  readonly allowLocalStorage: boolean;
  readonly allowStatefulSets: boolean;
  /** Also allows the only replica of a workload that can't surge: it is down while it moves. */
  readonly allowSingleReplicas: boolean;
}

export interface PodInContext {
  readonly pod: ClusterObject;
  /** Controller of the pod. Null: unknown. */
  readonly controller: ClusterObject | null;
  /** The Deployment, else the controller itself. Null: unknown. */
  readonly workload: ClusterObject | null;
  /** Whether our scheduling gate would hold a new pod of this template, so that it gets its target. */
  readonly replacementIsGated: boolean;
  /** Looks up by namespace/name. Undefined: missing or unknown. */
  readonly claim: (key: string) => ClusterObject | undefined;
  readonly volume: (name: string) => ClusterObject | undefined;
  readonly moveInFlight: boolean;
  readonly lastMove: { readonly atMs: number; readonly coolDownMs: number } | null;
}

/** Returns the first rule that forbids the move, permanent rules first. */
export function exclusionOf(context: PodInContext, rules: ExclusionRules, nowMs: number): Exclusion | null {
  return (
    ofKind(context, rules) ??
    ofGang(context.pod) ??
    ofAnnotations(context.pod) ??
    ofVolumes(context, rules) ??
    (context.replacementIsGated
      ? null
      : excluded("not_opted_in", "its replacement wouldn't wait for a plan")) ??
    ofReplicas(context, rules) ??
    ofAge(context, rules, nowMs) ??
    ofMoves(context, nowMs)
  );
}

/** Kubernetes' own two classes start at 2,000,000,000; users' end at 1,000,000,000. */
const SYSTEM_PRIORITY = 2_000_000_000;

const MIRROR_ANNOTATION = "kubernetes.io/config.mirror";

function ofKind({ pod }: PodInContext, rules: ExclusionRules): Exclusion | null {
  if (pod.metadata.deletionTimestamp !== undefined) return excluded("terminating", "it is being deleted");
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (pod.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined || owner?.kind === "Node")
    return excluded("static_pod", "its kubelet would start it on the same node again");
  if (owner === undefined) return excluded("bare_pod", "nobody would replace it");
  switch (owner.kind) {
    case "ReplicaSet":
      return ofPriority(pod);
    case "StatefulSet":
      return rules.allowStatefulSets
        ? ofPriority(pod)
        : excluded("stateful_set", "StatefulSets are moved only when that is allowed");
    case "DaemonSet":
      return excluded("daemon_set", "it belongs on its node");
    case "Job":
      return excluded("job", "its work would be lost");
    default:
      return excluded("unknown_controller", `how a ${owner.kind} replaces its pods isn't known`);
  }
}

function ofGang(pod: ClusterObject): Exclusion | null {
  const gang = gangOf(pod);
  return gang === null ? null : excluded("gang", gang);
}

function ofPriority(pod: ClusterObject): Exclusion | null {
  if (isOfferedForEviction(pod)) return null;
  const { priorityClassName, priority: given } = fieldsOf<"priorityClassName" | "priority">(pod.spec);
  const name = textOf(priorityClassName);
  const priority = countOf(given) ?? 0;
  return name.startsWith("system-") || priority >= SYSTEM_PRIORITY
    ? excluded("system_priority", `its priority is ${name === "" ? priority : name}`)
    : null;
}

const UPSTREAM = "descheduler.alpha.kubernetes.io/";
/** Annotations that keep a pod. A null value matches any value, as in the Kubernetes descheduler. */
const KEEPING: readonly (readonly [name: string, value: string | null, reason: ExclusionReason])[] = [
  ["cluster-autoscaler.kubernetes.io/safe-to-evict", "false", "not_safe_to_evict"],
  ["karpenter.sh/do-not-disrupt", "true", "do_not_disrupt"],
  ["karpenter.sh/do-not-evict", "true", "do_not_disrupt"],
  [`${UPSTREAM}prefer-no-eviction`, null, "prefer_no_eviction"],
  [`${UPSTREAM}request-evict-only`, null, "prefer_no_eviction"],
  [`${UPSTREAM}eviction-in-progress`, null, "prefer_no_eviction"],
];
/** Allows eviction despite priority and local volumes. */
const EVICT_ANNOTATION = `${UPSTREAM}evict`;

type AnnotationsOf = Readonly<Record<string, string>>;

export function keepingAnnotation(
  annotations: AnnotationsOf,
): { readonly reason: ExclusionReason; readonly annotation: string } | null {
  for (const [name, wanted, reason] of KEEPING) {
    const value = annotations[name];
    if (value !== undefined && (wanted === null || value === wanted))
      return { reason, annotation: value === "" ? name : `${name}=${value}` };
  }
  return null;
}

function isOfferedForEviction({ metadata }: ClusterObject): boolean {
  return metadata.annotations?.[EVICT_ANNOTATION] !== undefined;
}

function ofAnnotations({ metadata }: ClusterObject): Exclusion | null {
  const keeping = keepingAnnotation(metadata.annotations ?? {});
  return keeping && excluded(keeping.reason, `it is annotated ${keeping.annotation}`);
}

/** Comma-separated names of volumes without valuable data. */
const SAFE_VOLUMES_ANNOTATION = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes";
/** Istio's injector lists its own volumes here, as JSON. */
const SIDECAR_ANNOTATION = "sidecar.istio.io/status";

function ofVolumes(context: PodInContext, { allowLocalStorage }: ExclusionRules): Exclusion | null {
  const { pod } = context;
  const volumes = listOf<VolumeField>(fieldsOf<"volumes">(pod.spec).volumes);
  if (!allowLocalStorage && !isOfferedForEviction(pod)) {
    const safe = safeVolumes(pod.metadata.annotations ?? {});
    const local = volumes.find((volume) => isLocal(volume) && !safe.has(textOf(volume.name)));
    if (local !== undefined)
      return excluded("local_storage", `what is in its volume ${textOf(local.name)} would be lost`);
  }
  for (const volume of volumes) {
    const problem = ofClaim(context, volume);
    if (problem !== null) return excluded("pinned_volume", problem);
  }
  return null;
}

type VolumeField = "name" | "emptyDir" | "hostPath" | "persistentVolumeClaim" | "ephemeral";

function isLocal(volume: Named<VolumeField>): boolean {
  return volume.emptyDir !== undefined || volume.hostPath !== undefined;
}

function safeVolumes(annotations: AnnotationsOf): ReadonlySet<string> {
  const named = (annotations[SAFE_VOLUMES_ANNOTATION] ?? "").split(",").map((name) => name.trim());
  return new Set([...named, ...sidecarVolumes(annotations[SIDECAR_ANNOTATION])]);
}

function sidecarVolumes(text: string | undefined): string[] {
  if (text === undefined) return [];
  try {
    const { volumes } = fieldsOf(JSON.parse(text));
    return Array.isArray(volumes) ? volumes.map(textOf) : [];
  } catch {
    return [];
  }
}

/** Returns what ties the volume to a place, or null if nothing does. */
function ofClaim({ pod, claim, volume }: PodInContext, source: Named<VolumeField>): string | null {
  const { namespace = "default", name } = pod.metadata;
  const named = textOf(fieldsOf<"claimName">(source.persistentVolumeClaim).claimName);
  const claimName = source.ephemeral === undefined ? named : `${name}-${textOf(source.name)}`;
  if (claimName === "") return null;
  const volumeName = textOf(fieldsOf<"volumeName">(claim(`${namespace}/${claimName}`)?.spec).volumeName);
  if (volumeName === "") return `its claim ${claimName} isn't bound, or isn't known`;
  const bound = volume(volumeName);
  if (bound === undefined) return `its volume ${volumeName} isn't known`;
  const { local, hostPath, nodeAffinity } = fieldsOf<"local" | "hostPath" | "nodeAffinity">(bound.spec);
  if (local !== undefined || hostPath !== undefined) return `its volume ${volumeName} is on its node`;
  return fieldsOf<"required">(nodeAffinity).required === undefined
    ? null
    : `its volume ${volumeName} binds it to its node or zone`;
}

function ofReplicas(context: PodInContext, { allowSingleReplicas }: ExclusionRules): Exclusion | null {
  const { pod, workload, controller } = context;
  if (workload === null || controller === null)
    return excluded("unknown_controller", "its controller isn't known yet");
  // The API server's default.
  const wanted = countOf(fieldsOf<"replicas">(workload.spec).replicas) ?? 1;
  if (wanted < 2 && !allowSingleReplicas && !canSurge({ pod, workload }))
    return excluded("single_replica", "nothing would serve while it moves");
  const rollout = rolloutOf(workload, controller, wanted);
  if (rollout !== null) return excluded("rollout", rollout);
  const ready = countOf(fieldsOf<StatusField>(workload.status).readyReplicas) ?? 0;
  if (ready < wanted) return excluded("replicas_not_ready", `${ready} of ${wanted} replicas are ready`);
  return fieldsOf<"phase">(pod.status).phase === "Running" && isTrue(pod, "Ready")
    ? null
    : excluded("pod_not_ready", "it isn't ready");
}

type StatusField =
  | "currentRevision"
  | "observedGeneration"
  | "readyReplicas"
  | "replicas"
  | "updatedReplicas"
  | "updateRevision";

function rolloutOf(workload: ClusterObject, controller: ClusterObject, wanted: number): string | null {
  const { metadata } = workload;
  const status = fieldsOf<StatusField>(workload.status);
  const seen = countOf(status.observedGeneration);
  if (seen !== null && seen < (metadata.generation ?? 0))
    return "its newest specification wasn't looked at yet";
  const current = textOf(status.currentRevision);
  if (current !== "" && current !== textOf(status.updateRevision))
    return `revision ${textOf(status.updateRevision)} is being rolled out`;
  const total = countOf(status.replicas) ?? 0;
  if (total !== wanted) return `it has ${total} replicas and is to have ${wanted}`;
  return workload === controller ? null : generationOf(status, controller, wanted);
}

function generationOf(status: Named<StatusField>, controller: ClusterObject, wanted: number): string | null {
  const updated = countOf(status.updatedReplicas);
  if (updated !== null && updated !== wanted)
    return `${updated} of ${wanted} replicas are of its newest template`;
  const ofController = countOf(fieldsOf<"replicas">(controller.spec).replicas);
  return ofController !== null && ofController !== wanted ? "its ReplicaSet is being scaled" : null;
}

function ofAge(
  { pod, workload }: PodInContext,
  { minPodAgeMs }: ExclusionRules,
  nowMs: number,
): Exclusion | null {
  for (const [object, words] of [
    [pod, "it"],
    [workload, "its workload"],
  ] as const) {
    const ageMs = object === null ? null : ageMsOf(object, nowMs);
    if (ageMs === null || ageMs < minPodAgeMs) {
      const age = ageMs === null ? "of unknown age" : `${Math.round(ageMs / 1000)} s old`;
      return excluded("too_young", `${words} is ${age}`);
    }
  }
  return null;
}

/** Upper bound of clock skew between replicas. */
const MAX_AHEAD_MS = 60_000;

function ofMoves({ moveInFlight, lastMove }: PodInContext, nowMs: number): Exclusion | null {
  if (moveInFlight) return excluded("in_flight", "a pod of its workload is being moved");
  if (lastMove === null) return null;
  const leftMs = lastMove.atMs + lastMove.coolDownMs - nowMs;
  // A move in the far future is a clock error; don't wait for it.
  return leftMs > 0 && leftMs <= lastMove.coolDownMs + MAX_AHEAD_MS
    ? excluded("cool_down", `a pod of its workload was moved; no other is for ${Math.ceil(leftMs / 1000)} s`)
    : null;
}

function excluded(reason: ExclusionReason, detail: string): Exclusion {
  return { reason, detail };
}

// What the descheduler leaves for the planner: where the replacement of an evicted pod is to go. The record
// is on the pod's controller (a ReplicaSet, not its Deployment: an annotation there bumps the generation,
// which reads like a rollout, and is copied to every ReplicaSet).
import { looseFields, parseJson } from "@isochrone/primitives";
import type { JsonPatchOperation, KubernetesObject, ObjectRef } from "./port.ts";
import { timestamp } from "./objects.ts";

/**
 * Annotation: moves under way, on the controller of the pods that were evicted: a JSON list of {@link
 * MoveRecord}.
 */
export const MOVES_ANNOTATION = "isochrone.dev/moves";
/**
 * Annotation: when a pod of this controller was moved last, and how long no other may be: JSON of {@link
 * LastMove}.
 */
export const LAST_MOVE_ANNOTATION = "isochrone.dev/last-move";

/**
 * Annotation of a pod: the node that its replacement is to go to, once somebody evicts the pod. For moves by
 * hand; the descheduler's outlast the process that decided them.
 */
export const MOVE_TO_ANNOTATION = "isochrone.dev/move-to";

/** A move that waits for its replacement pod. */
export interface MoveRecord {
  /** Of the pod that was evicted; its replacement is any other pod of the same controller. */
  readonly podUid: string;
  readonly from: string;
  /** The node that the replacement is to be nominated to. */
  readonly to: string;
  /** Afterwards the record counts for nothing, wall clock milliseconds; RFC 3339 on the wire. */
  readonly deadlineMs: number;
}

export interface LastMove {
  /** Wall clock milliseconds; RFC 3339 on the wire. */
  readonly atMs: number;
  /** No pod of this controller is moved so long after `atMs`; doubled by each move that gained nothing. */
  readonly coolDownMs: number;
}

/** As it is written. */
interface LastMoveText {
  readonly at: string;
  readonly coolDownSeconds: number;
}

/** More would be no moves of ours: one per workload is under way at most. */
const MAX_RECORDS = 64;
/** Of annotations that are read: so many records take less. */
const MAX_CHARACTERS = 32 * 1024;

/** The controller that will replace the pod, and that holds its move record; null for a bare pod. */
export function moveOwnerOf(pod: KubernetesObject): (ObjectRef & { readonly uid: string }) | null {
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return null;
  const { apiVersion, kind, name, uid } = owner;
  return { apiVersion, kind, namespace: pod.metadata.namespace ?? "default", name, uid };
}

/**
 * Records whose deadline hasn't passed, in the order they were written. What can't be read counts as absent.
 */
export function readMoveRecords(owner: KubernetesObject, nowMs: number): MoveRecord[] {
  const entries = jsonOf(owner.metadata.annotations?.[MOVES_ANNOTATION]);
  if (!Array.isArray(entries)) return [];
  return entries
    .slice(0, MAX_RECORDS)
    .map(recordOf)
    .filter((record) => record !== null)
    .filter(({ deadlineMs }) => deadlineMs > nowMs);
}

/** The first open record that this pod of the controller may redeem; null when there is none. */
export function redeemableMove(
  owner: KubernetesObject,
  pod: KubernetesObject,
  nowMs: number,
): MoveRecord | null {
  return readMoveRecords(owner, nowMs).find(({ podUid }) => podUid !== pod.metadata.uid) ?? null;
}

/** null when none was ever moved, or when it can't be read. */
export function readLastMove(owner: KubernetesObject): LastMove | null {
  const fields = looseFields<LastMoveText>(jsonOf(owner.metadata.annotations?.[LAST_MOVE_ANNOTATION]));
  const atMs = timeOf(fields.at);
  const seconds = fields.coolDownSeconds;
  if (atMs === null || typeof seconds !== "number" || !(seconds >= 0 && seconds < Infinity)) return null;
  return { atMs, coolDownMs: seconds * 1000 };
}

/**
 * Adds the record. For `jsonPatch`: refused with StoreError `conflict` when the owner isn't the one that was
 * read any more, with its uid or its resourceVersion. Expired records go with the same write.
 */
export function moveRecordPatch(
  owner: KubernetesObject,
  record: MoveRecord,
  last: LastMove,
  nowMs: number,
): JsonPatchOperation[] {
  const records = [...readMoveRecords(owner, nowMs), record];
  return annotated(owner, {
    [MOVES_ANNOTATION]: textOfRecords(records),
    [LAST_MOVE_ANNOTATION]: textOfLast(last),
  });
}

/**
 * Removes the records of these evicted pods, and expired ones; with `last`, says anew how long the cool-down
 * is. For `jsonPatch`, as above.
 */
export function movesDonePatch(
  owner: KubernetesObject,
  podUids: readonly string[],
  nowMs: number,
  last: LastMove | null = null,
): JsonPatchOperation[] {
  const left = readMoveRecords(owner, nowMs).filter(({ podUid }) => !podUids.includes(podUid));
  return annotated(owner, {
    [MOVES_ANNOTATION]: left.length === 0 ? null : textOfRecords(left),
    ...(last === null ? {} : { [LAST_MOVE_ANNOTATION]: textOfLast(last) }),
  });
}

/** null removes. */
function annotated(
  owner: KubernetesObject,
  values: Readonly<Record<string, string | null>>,
): JsonPatchOperation[] {
  const { uid, resourceVersion, annotations } = owner.metadata;
  const operations: JsonPatchOperation[] = [
    { op: "test", path: "/metadata/uid", value: uid },
    { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
  ];
  if (annotations === undefined) operations.push({ op: "add", path: "/metadata/annotations", value: {} });
  for (const [name, value] of Object.entries(values)) {
    const path = annotationPath(name);
    if (value !== null) operations.push({ op: "add", path, value });
    else if (annotations?.[name] !== undefined) operations.push({ op: "remove", path });
  }
  return operations;
}

/** JSON pointer to the annotation. */
export function annotationPath(name: string): string {
  return `/metadata/annotations/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** What the annotation says. */
function textOfRecords(records: readonly MoveRecord[]): string {
  return JSON.stringify(
    records.map(({ podUid, from, to, deadlineMs }) => ({
      podUid,
      from,
      to,
      deadline: timestamp(deadlineMs),
    })),
  );
}

function textOfLast({ atMs, coolDownMs }: LastMove): string {
  return JSON.stringify({ at: timestamp(atMs), coolDownSeconds: Math.ceil(coolDownMs / 1000) });
}

function recordOf(entry: unknown): MoveRecord | null {
  const { podUid, from, to, deadline } = looseFields(entry);
  const deadlineMs = timeOf(deadline);
  if (typeof podUid !== "string" || typeof from !== "string" || typeof to !== "string") return null;
  return podUid === "" || to === "" || deadlineMs === null ? null : { podUid, from, to, deadlineMs };
}

function timeOf(value: unknown): number | null {
  const ms = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

function jsonOf(text: string | undefined): unknown {
  try {
    return text === undefined || text.length > MAX_CHARACTERS ? null : parseJson(text);
  } catch {
    return null;
  }
}

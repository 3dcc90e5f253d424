// Targets of replacement pods, from the descheduler to the planner. Stored on the ReplicaSet: an annotation
// on its Deployment would bump the generation like a rollout, and be copied to every ReplicaSet.
import { looseFields, parseJson } from "@isochrone/primitives";
import type { JsonPatchOperation, KubernetesObject, ObjectRef } from "./port.ts";
import { timestamp } from "./objects.ts";

/** Annotation of a controller: pending moves of its evicted pods, a JSON list of {@link MoveRecord}. */
export const MOVES_ANNOTATION = "isochrone.dev/moves";
/** Annotation of a controller: time of its last move and the cool-down after it, JSON of {@link LastMove}. */
export const LAST_MOVE_ANNOTATION = "isochrone.dev/last-move";

/**
 * Annotation of a pod: target node of its replacement after an eviction, for moves by hand. The descheduler's
 * moves outlast its process.
 */
export const MOVE_TO_ANNOTATION = "isochrone.dev/move-to";

export interface MoveRecord {
  readonly podUid: string;
  readonly from: string;
  readonly to: string;
  /** Expiry in wall clock milliseconds; RFC 3339 on the wire. */
  readonly deadlineMs: number;
}

export interface LastMove {
  /** Time of the move in wall clock milliseconds; RFC 3339 on the wire. */
  readonly atMs: number;
  /** No other move of this controller within this time; doubled by each move without gain. */
  readonly coolDownMs: number;
}

interface LastMoveText {
  readonly at: string;
  readonly coolDownSeconds: number;
}

/** Maximum records read, above our own use of one pending move per workload. */
const MAX_RECORDS = 64;
const MAX_LEFT_MS = 24 * 3_600_000;
const MAX_CHARACTERS = 32 * 1024;

/** The controller that replaces the pod and holds its record. Null: a bare pod. */
export function moveOwnerOf(pod: KubernetesObject): (ObjectRef & { readonly uid: string }) | null {
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return null;
  const { apiVersion, kind, name, uid } = owner;
  return { apiVersion, kind, namespace: pod.metadata.namespace ?? "default", name, uid };
}

export function readMoveRecords(owner: KubernetesObject, nowMs: number): MoveRecord[] {
  const entries = jsonOf(owner.metadata.annotations?.[MOVES_ANNOTATION]);
  if (!Array.isArray(entries)) return [];
  return entries
    .slice(0, MAX_RECORDS)
    .map(recordOf)
    .filter((record) => record !== null)
    .filter(({ deadlineMs }) => deadlineMs > nowMs && deadlineMs < nowMs + MAX_LEFT_MS);
}

export function redeemableMove(
  owner: KubernetesObject,
  pod: KubernetesObject,
  nowMs: number,
): MoveRecord | null {
  return readMoveRecords(owner, nowMs).find(({ podUid }) => podUid !== pod.metadata.uid) ?? null;
}

export function readLastMove(owner: KubernetesObject): LastMove | null {
  const fields = looseFields<LastMoveText>(jsonOf(owner.metadata.annotations?.[LAST_MOVE_ANNOTATION]));
  const atMs = timeOf(fields.at);
  const seconds = fields.coolDownSeconds;
  if (atMs === null || typeof seconds !== "number" || !(seconds >= 0 && seconds < Infinity)) return null;
  return { atMs, coolDownMs: seconds * 1000 };
}

/**
 * Adds the record and removes expired ones. For `jsonPatch`: throws StoreError `conflict` if the owner
 * changed.
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
 * Removes records of these pods and expired ones. For `jsonPatch`, with the same guard.
 * @param last updates the cool-down
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

export function annotationPath(name: string): string {
  return `/metadata/annotations/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

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

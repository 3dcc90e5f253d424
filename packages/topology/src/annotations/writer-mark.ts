// Value of `isochrone.dev/annotated-by`.
import { ANNOTATIONS_STALE_AFTER_SECONDS } from "./snapshot.ts";

export interface Writer {
  /** Writer's name, equal for all replicas of an installation. */
  readonly name: string;
  readonly sinceMs: number;
}

export interface WriterMark extends Writer {
  readonly atMs: number;
}

const FORM = /^(\S{1,253}) since (\S{20,24}) at (\S{20,24})$/;
/** Maximum clock skew between writer and reader. */
const MAX_AHEAD_MS = 60_000;

export function markText({ name, sinceMs, atMs }: WriterMark): string {
  return `${name} since ${new Date(sinceMs).toISOString()} at ${new Date(atMs).toISOString()}`;
}

/** Parses the mark. Null: invalid, or not from a current writer. */
export function readMark(text: string | undefined, nowMs: number): WriterMark | null {
  const [, name, since = "", at = ""] = FORM.exec(text ?? "") ?? [];
  const [sinceMs, atMs] = [Date.parse(since), Date.parse(at)];
  if (name === undefined || !(Math.max(sinceMs, atMs) <= nowMs + MAX_AHEAD_MS)) return null;
  return nowMs - atMs > ANNOTATIONS_STALE_AFTER_SECONDS * 1000 ? null : { name, sinceMs, atMs };
}

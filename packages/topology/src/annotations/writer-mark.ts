// What an aggregator leaves on the objects that it annotates: the value of `isochrone.dev/annotated-by`.
import { ANNOTATIONS_STALE_AFTER_SECONDS } from "./snapshot.ts";

/** An aggregator, or several that agree on who writes what. */
export interface Writer {
  /** Of all replicas of an installation the same. */
  readonly name: string;
  /** When this process began, ms since the epoch. */
  readonly sinceMs: number;
}

/** What a writer leaves on an object. */
export interface WriterMark extends Writer {
  /** When it wrote, ms since the epoch. */
  readonly atMs: number;
}

const FORM = /^(\S{1,253}) since (\S{20,24}) at (\S{20,24})$/;
/** Further ahead than by so much is no clock's error. */
const MAX_AHEAD_MS = 60_000;

export function markText({ name, sinceMs, atMs }: WriterMark): string {
  return `${name} since ${new Date(sinceMs).toISOString()} at ${new Date(atMs).toISOString()}`;
}

/** Null for what is no mark, or too old or too new to be one of somebody who writes now. */
export function readMark(text: string | undefined, nowMs: number): WriterMark | null {
  const [, name, since = "", at = ""] = FORM.exec(text ?? "") ?? [];
  const [sinceMs, atMs] = [Date.parse(since), Date.parse(at)];
  if (name === undefined || !(Math.max(sinceMs, atMs) <= nowMs + MAX_AHEAD_MS)) return null;
  return nowMs - atMs > ANNOTATIONS_STALE_AFTER_SECONDS * 1000 ? null : { name, sinceMs, atMs };
}

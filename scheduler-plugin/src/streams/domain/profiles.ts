// What profiling pods took for a frame: on which kinds of nodes, and for how long it counts.
import type { StreamNode } from "./planned-job.ts";

/** Of a task on one kind of node. */
export interface Profile {
  readonly task: string;
  readonly kind: string;
  /** What was run: the same for pods that differ in nothing but their job and node. */
  readonly work: string;
  /** Digest of the image that ran; null: unknown. */
  readonly image: string | null;
  readonly node: string;
  /** Null: no attempt has succeeded. */
  readonly secondsPerFrame: number | null;
  /** Wall milliseconds of the last attempt. */
  readonly atMs: number;
  /** Why the last attempt failed; null: it didn't. */
  readonly failure: string | null;
}

/** A profile is measured again after this. */
const PROFILE_MS = 86_400_000;
/** A failed attempt is repeated after this. */
const RETRY_MS = 3_600_000;

/** Whether the pair of task and kind needs no profiling pod now. */
export function isSettled({ failure, atMs, work }: Profile, wantedWork: string, nowMs: number): boolean {
  // A time in the future was written by a clock that was ahead.
  return work === wantedWork && Math.abs(nowMs - atMs) < (failure === null ? PROFILE_MS : RETRY_MS);
}

const KIND_LABELS = ["kubernetes.io/arch", "node.kubernetes.io/instance-type"];

/**
 * Nodes of one kind are taken to be equally fast: same architecture, instance type, CPUs and values of these
 * labels.
 */
export function kindOf({ labels, totalCpuMillicores }: StreamNode, names: readonly string[]): string {
  const known = KIND_LABELS.flatMap((name) => labels[name] ?? []);
  const named = names.map((name) => `${name}=${labels[name] ?? ""}`);
  return [...known, `${totalCpuMillicores / 1_000} CPUs`, ...named].join(", ");
}

/** Less is no time that a container could measure. */
const LEAST_SECONDS = 1e-6;
const SHOWN_CHARACTERS = 60;

/**
 * Seconds per frame of a termination message; a text says what is wrong with it.
 * @param ranSeconds how long the container ran at most; null: unknown
 */
export function readReport(message: string, ranSeconds: number | null): number | string {
  const text = message.trim();
  const seconds = text === "" ? NaN : Number(text);
  const most = ranSeconds ?? Number.MAX_SAFE_INTEGER;
  if (seconds >= LEAST_SECONDS && seconds <= most) return seconds;
  const shown = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
  const bound = ranSeconds === null ? "a second per frame" : `the ${ranSeconds} s that it ran`;
  return `its termination message must be the seconds per frame, from ${LEAST_SECONDS} to ${bound}, got ${JSON.stringify(shown)}`;
}

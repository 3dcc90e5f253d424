import type { StreamNode } from "./planned-job.ts";

export interface Profile {
  readonly task: string;
  readonly kind: string;
  /** Digest of the pod's work, equal for pods that differ only in job and node. */
  readonly work: string;
  readonly image: string | null;
  readonly node: string;
  readonly secondsPerFrame: number | null;
  readonly atMs: number;
  readonly failure: string | null;
}

const PROFILE_MS = 86_400_000;
const RETRY_MS = 3_600_000;

export function isSettled({ failure, atMs, work }: Profile, wantedWork: string, nowMs: number): boolean {
  // A future time comes from a clock that was ahead.
  return work === wantedWork && Math.abs(nowMs - atMs) < (failure === null ? PROFILE_MS : RETRY_MS);
}

const KIND_LABELS = ["kubernetes.io/arch", "node.kubernetes.io/instance-type"];

/** Nodes are equally fast if of the same architecture, instance type, CPUs and values of these labels. */
export function kindOf({ labels, totalCpuMillicores }: StreamNode, names: readonly string[]): string {
  const known = KIND_LABELS.flatMap((name) => labels[name] ?? []);
  const named = names.map((name) => `${name}=${labels[name] ?? ""}`);
  return [...known, `${totalCpuMillicores / 1_000} CPUs`, ...named].join(", ");
}

/** Smaller times aren't measurable in a container. */
const LEAST_SECONDS = 1e-6;
const SHOWN_CHARACTERS = 60;

/**
 * Parses a termination message into seconds per frame; a string is an error text.
 * @param ranSeconds upper bound of the run time; null if unknown
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

// Remaining time of a request. Durations only, because others' clocks may be wrong.
import type { HeaderValues } from "./headers.ts";

const GRPC = "grpc-timeout";
const ENVOY = "x-envoy-upstream-rq-timeout-ms";

export type DeadlineSource = typeof GRPC | typeof ENVOY | "annotation";

export interface DeadlineLeft {
  readonly leftMs: number | null;
  readonly source: DeadlineSource | null;
  readonly isMalformed: boolean;
}

const GRPC_UNITS_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};
const MAX_MS = 3_600_000;

/** @param annotatedMs of the Service; null without one */
export function deadlineLeft(headers: HeaderValues, annotatedMs: number | null): DeadlineLeft {
  let isMalformed = false;
  for (const [source, read] of READERS) {
    const text = headers[source];
    if (text === undefined) continue;
    const leftMs = typeof text === "string" ? read(text) : Number.NaN;
    if (Number.isNaN(leftMs)) isMalformed = true;
    else if (leftMs > MAX_MS) return { leftMs: null, source: null, isMalformed };
    else return { leftMs, source, isMalformed };
  }
  return { leftMs: annotatedMs, source: annotatedMs === null ? null : "annotation", isMalformed };
}

const READERS = [
  [GRPC, grpcMs],
  [ENVOY, envoyMs],
] as const;

function grpcMs(text: string): number {
  const [, number, unit] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? [];
  return unit === undefined ? Number.NaN : Number(number) * GRPC_UNITS_MS[unit]!;
}

/** 0 means none, as in Envoy. */
function envoyMs(text: string): number {
  if (!/^\d{1,15}$/.test(text)) return Number.NaN;
  return Number(text) === 0 ? Number.POSITIVE_INFINITY : Number(text);
}

const MAX_MICROSECONDS = 99_999_999;

/** Header with the remaining time for the endpoint; null if the client sent none. */
export function leftHeader(source: DeadlineSource | null, leftMs: number): readonly [string, string] | null {
  if (source === ENVOY) return [ENVOY, String(Math.max(1, Math.floor(leftMs)))];
  if (source !== GRPC) return null;
  const micros = Math.max(1, Math.floor(leftMs * 1000));
  return [GRPC, micros <= MAX_MICROSECONDS ? `${micros}u` : `${Math.floor(leftMs)}m`];
}

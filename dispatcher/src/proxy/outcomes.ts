import type { HeaderValues } from "../domain/headers.ts";
import { LOAD_HEADER, readLoadHeader } from "../domain/load-report.ts";
import type { DispatcherMetrics } from "../metrics.ts";
import type { Endpoint } from "../services/endpoint.ts";

/** Too many requests, and server unavailability. */
const FAILURES = new Set([429, 500, 502, 503, 504]);
const GRPC_STATUS = "grpc-status";
/** RESOURCE_EXHAUSTED, INTERNAL and UNAVAILABLE. */
const GRPC_FAILURES = new Set(["8", "13", "14"]);

export function isFailure(status: number, headers: HeaderValues): boolean {
  return FAILURES.has(status) || GRPC_FAILURES.has(String(headers[GRPC_STATUS]));
}

export function takeReport(
  headers: HeaderValues,
  endpoint: Endpoint,
  nowMs: number,
  metrics: DispatcherMetrics,
): void {
  const text = headers[LOAD_HEADER];
  if (text === undefined) return;
  const report = typeof text === "string" ? readLoadHeader(text) : null;
  metrics.reported(report !== null);
  if (report !== null) endpoint.load.reported(report, nowMs);
}

import type { SocketAddress } from "../ports.ts";

/** Lowest and highest value, milliseconds. */
export type RangeMs = readonly [number, number];

export interface EndToEnd {
  /** Requests answered 200. */
  readonly count: number;
  /** Failed or otherwise answered requests; not in the percentiles. */
  readonly errors: number;
  /** The fastest tenth is least affected by a busy machine. */
  readonly p10Ms: number | null;
  /** Percentiles are null with too few answers. */
  readonly p50Ms: number | null;
  readonly p90Ms: number | null;
  readonly p95Ms: number | null;
  /** 95 % confidence intervals by order statistics: sampling error only. */
  readonly p50RangeMs: RangeMs | null;
  readonly p95RangeMs: RangeMs | null;
  /** Completed requests, including failed ones. */
  readonly requestsPerSecond: number;
  /** Lateness of sending, p95: this machine's part of the times above. Null without requests. */
  readonly sendLateMs: number | null;
  readonly failure: string | null;
}

export interface LoadPlan {
  /** Request times within each period, ascending. */
  readonly phasesMs: readonly number[];
  readonly periodMs: number;
  readonly timeoutMs: number;
  /** Further requests fail at once: sockets are finite. */
  readonly maxPending: number;
}

export interface RawStretch {
  /** In sending order, from the planned time; null: failed. */
  readonly responseMs: readonly (number | null)[];
}

export type ToLoad =
  | { readonly type: "configure"; readonly plan: LoadPlan }
  | { readonly type: "pace"; readonly factor: number }
  | { readonly type: "endpoints"; readonly host: string; readonly endpoints: readonly SocketAddress[] }
  | { readonly type: "report"; readonly id: number; readonly lastMs: number }
  /** From the last period's end, or from now; answered once all requests are. */
  | { readonly type: "stretch"; readonly id: number; readonly durationMs: number };

export type FromLoad =
  | { readonly type: "report"; readonly id: number; readonly report: EndToEnd }
  | { readonly type: "stretch"; readonly id: number; readonly stretch: RawStretch };

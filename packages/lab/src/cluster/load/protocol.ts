// What the cluster and the load generator's process say to each other over the IPC channel.
import type { SocketAddress } from "../ports.ts";

/** Lowest and highest value, milliseconds. */
export type RangeMs = readonly [number, number];

/** What users of the workflow experienced, measured at its entry. */
export interface EndToEnd {
  /** Requests answered 200. */
  readonly count: number;
  /** Requests that failed or were answered otherwise; their times are not in the percentiles. */
  readonly errors: number;
  /** Time of the fastest tenth: a busy machine adds least to these. */
  readonly p10Ms: number | null;
  /** Percentiles are null with too few answers. */
  readonly p50Ms: number | null;
  readonly p90Ms: number | null;
  readonly p95Ms: number | null;
  /** 95 % confidence intervals by order statistics: errors of the samples, not of the machine. */
  readonly p50RangeMs: RangeMs | null;
  readonly p95RangeMs: RangeMs | null;
  /** Requests that ended, failed ones included, over the time looked at. */
  readonly requestsPerSecond: number;
  /**
   * How late requests left, p95: the part of the times above that is this machine's. Null without requests.
   */
  readonly sendLateMs: number | null;
  /** What most of the failed requests failed of; null without any. */
  readonly failure: string | null;
}

/** When users send, and how patient they are. */
export interface LoadPlan {
  /** In every period a request at each of these, in order. */
  readonly phasesMs: readonly number[];
  readonly periodMs: number;
  readonly timeoutMs: number;
  /** Beyond this many unanswered requests new ones count as failed at once: sockets are finite. */
  readonly maxPending: number;
}

/** Every single request of a stretch of time. */
export interface RawStretch {
  /** In the order of sending, from the planned time; null: failed. */
  readonly responseMs: readonly (number | null)[];
}

export type ToLoad =
  | { readonly type: "configure"; readonly plan: LoadPlan }
  /** From now on each period takes so many times as long. */
  | { readonly type: "pace"; readonly factor: number }
  | { readonly type: "endpoints"; readonly host: string; readonly endpoints: readonly SocketAddress[] }
  | { readonly type: "report"; readonly id: number; readonly lastMs: number }
  /** From the last stretch's end, or from now, for so long; answered once all of its requests are. */
  | { readonly type: "stretch"; readonly id: number; readonly durationMs: number };

export type FromLoad =
  | { readonly type: "report"; readonly id: number; readonly report: EndToEnd }
  | { readonly type: "stretch"; readonly id: number; readonly stretch: RawStretch };

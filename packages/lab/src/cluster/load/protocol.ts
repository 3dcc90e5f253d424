// What the cluster and the load generator's process say to each other over the IPC channel.
import type { SocketAddress } from "../ports.ts";

/** What users of the workflow experienced, measured at its entry. */
export interface EndToEnd {
  /** Requests answered 200. */
  readonly count: number;
  /** Requests that failed or were answered otherwise; their times are not in the percentiles. */
  readonly errors: number;
  readonly p50Ms: number | null;
  readonly p90Ms: number | null;
  readonly p95Ms: number | null;
  /** Requests that ended, failed ones included, over the time looked at. */
  readonly requestsPerSecond: number;
}

export type ToLoad =
  | { readonly type: "configure"; readonly requestsPerSecond: number; readonly timeoutMs: number }
  | { readonly type: "endpoints"; readonly host: string; readonly endpoints: readonly SocketAddress[] }
  | { readonly type: "report"; readonly id: number; readonly lastMs: number };

export type FromLoad = { readonly type: "report"; readonly id: number; readonly report: EndToEnd };

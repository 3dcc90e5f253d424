// What the main thread and the ICMP thread say to each other.
import type { FlowSnapshot, ZeroCheckSnapshot } from "../ports.ts";

/** What the ICMP thread is to do for one engine. */
export interface IcmpTask {
  readonly engine: number;
  /** IPv4 only. */
  readonly peers: readonly { readonly node: string; readonly address: string }[];
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly warmupPackets: number;
  /** 0 = no zero-check. */
  readonly zeroCheckIntervalMs: number;
}

export type ToIcmp =
  /** Replaces what the engine had. */
  { readonly type: "task"; readonly task: IcmpTask } | { readonly type: "remove"; readonly engine: number };

/** What came about since the last report. */
export interface IcmpReport {
  readonly flows: readonly FlowSnapshot[];
  readonly zeroCheck: ZeroCheckSnapshot | null;
}

export type FromIcmp =
  | { readonly type: "ready"; readonly socket: "datagram" | "raw" }
  /** No echo can be sent, ever; the reason is for one log line. */
  | { readonly type: "unavailable"; readonly reason: string }
  | { readonly type: "report"; readonly engine: number; readonly report: IcmpReport };

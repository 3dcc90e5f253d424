import type { FlowSnapshot, IcmpProberName, ZeroCheckSnapshot } from "../ports/ports.ts";

export interface IcmpTask {
  readonly engine: number;
  readonly peers: readonly { readonly node: string; readonly address: string }[];
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly warmupPackets: number;
  readonly zeroCheckIntervalMs: number;
  readonly dscp: number;
  readonly payloadBytes: number;
  /** All engines of a process share one prober, so the first engine's choice counts. */
  readonly prober: "auto" | IcmpProberName;
}

export type ToIcmp =
  | { readonly type: "task"; readonly task: IcmpTask }
  | { readonly type: "remove"; readonly engine: number }
  | { readonly type: "stop" };

export interface IcmpReport {
  readonly flows: readonly FlowSnapshot[];
  readonly zeroCheck: ZeroCheckSnapshot | null;
}

export type FromIcmp =
  /** `description` is for the log, for example the kind of socket. */
  | { readonly type: "ready"; readonly description: string }
  /** Echoes are impossible this way; the reason is logged once. */
  | { readonly type: "unavailable"; readonly reason: string }
  | { readonly type: "report"; readonly engine: number; readonly report: IcmpReport }
  | { readonly type: "removed"; readonly engine: number };

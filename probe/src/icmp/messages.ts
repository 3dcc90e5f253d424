// What the main thread and whatever sends echoes (a thread or a child process) say to each other.
import type { FlowSnapshot, IcmpProberName, ZeroCheckSnapshot } from "../ports/ports.ts";

/** What is to be done for one engine. */
export interface IcmpTask {
  readonly engine: number;
  /** Of both IP families. */
  readonly peers: readonly { readonly node: string; readonly address: string }[];
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly warmupPackets: number;
  /** 0 = no zero-check. */
  readonly zeroCheckIntervalMs: number;
  /** Differentiated services code point, 0 to 63. */
  readonly dscp: number;
  /** Without ICMP and IP headers. */
  readonly payloadBytes: number;
  /** What is to send; all engines of a process share one, so the first one's wish counts. */
  readonly prober: "auto" | IcmpProberName;
}

export type ToIcmp =
  /** Replaces what the engine had. */
  | { readonly type: "task"; readonly task: IcmpTask }
  | { readonly type: "remove"; readonly engine: number }
  /** End in good order: sockets and children first. */
  | { readonly type: "stop" };

/** What came about since the last report. */
export interface IcmpReport {
  readonly flows: readonly FlowSnapshot[];
  readonly zeroCheck: ZeroCheckSnapshot | null;
}

export type FromIcmp =
  /** `description` is for the log, e.g. which kind of socket. */
  | { readonly type: "ready"; readonly description: string }
  /** No echo can be sent this way, ever; the reason is for one log line. */
  | { readonly type: "unavailable"; readonly reason: string }
  | { readonly type: "report"; readonly engine: number; readonly report: IcmpReport }
  /** The answer to `remove`, behind the engine's last report. */
  | { readonly type: "removed"; readonly engine: number };

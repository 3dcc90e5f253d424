/** Protocols that the network carries. */
export type Protocol = "udp" | "tcp";

/** What the emulator saw of one protocol between an ordered pair of nodes. */
export interface TrafficRecord {
  /** Exchanges: a request and the answer that followed it on the same flow or connection. */
  readonly count: number;
  /** Time that request and answer together really spent inside the relay; null without exchanges. */
  readonly p50Ms: number | null;
  /** Null below 20 exchanges. */
  readonly p90Ms: number | null;
  readonly meanMs: number | null;
  /** Packets (UDP datagrams, TCP chunks) passed on, both ways together. */
  readonly forwarded: number;
  /**
   * UDP datagrams lost on purpose, by a cut or a full queue; TCP chunks that were charged a retransmission.
   */
  readonly dropped: number;
}

/** The record of exchanges that `source` initiated with `target`. */
export interface PairRecord {
  readonly source: string;
  readonly target: string;
  readonly udp: TrafficRecord;
  readonly tcp: TrafficRecord;
}

/** How far back the emulator's record reaches. */
export const RECORD_DEPTH_MS = 120_000;

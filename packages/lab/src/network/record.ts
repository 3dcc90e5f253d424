export type Protocol = "udp" | "tcp";

export interface TrafficRecord {
  /** Exchanges: a request and the next answer on its flow or connection. */
  readonly count: number;
  /** Time of request and answer inside the relay; null without exchanges. */
  readonly p50Ms: number | null;
  /** Null below 20 exchanges. */
  readonly p90Ms: number | null;
  readonly meanMs: number | null;
  /** Forwarded packets (UDP datagrams, TCP chunks) of both directions. */
  readonly forwarded: number;
  /** UDP datagrams lost by loss, cut or full queue; TCP chunks with a simulated retransmission. */
  readonly dropped: number;
}

export interface PairRecord {
  readonly source: string;
  readonly target: string;
  readonly udp: TrafficRecord;
  readonly tcp: TrafficRecord;
}

export const RECORD_DEPTH_MS = 120_000;

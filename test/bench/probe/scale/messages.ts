import type { ProbeConfig } from "@isochrone/probe/testing";
import type { Seat } from "./cluster.ts";

export type Pace = Pick<
  ProbeConfig,
  "intervalMs" | "publishIntervalMs" | "connectIntervalMs" | "zeroCheckIntervalMs" | "planRefreshMs"
>;

export interface Usage {
  readonly elapsedMs: number;
  /** User and system time of all threads. */
  readonly cpuMs: number;
  readonly mainCpuMs: number;
  /** Resident, at the end. */
  readonly rssBytes: number;
}

/** Contents of records published by a process between `begin` and `end`, and its /metrics pages. */
export interface ProbesReport {
  /** Total time covered by all records, in seconds of one node. */
  readonly nodeSeconds: number;
  readonly records: number;
  readonly bytes: number;
  /** Size after gzip. */
  readonly compressedBytes: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly lostByMethod: Readonly<Record<string, number>>;
  readonly dropped: number;
  readonly series: readonly number[];
}

export interface AggregatorReport {
  readonly links: number;
  readonly series: number;
  readonly missingRecords: number;
  readonly refused: number;
  readonly buildMs: number;
  readonly builds: number;
}

/** Calls by name, with argument and result. */
export interface AggregatorCalls {
  start(seats: readonly Seat[], port: number): Promise<{ readonly url: string; readonly assignMs: number }>;
  addPods(): Promise<null>;
  removePods(): Promise<null>;
  begin(): Promise<null>;
  end(): Promise<Usage>;
  report(): Promise<AggregatorReport>;
}

export interface ProbesCalls {
  start(seats: readonly Seat[], port: number, aggregatorUrl: string, pace: Pace): Promise<null>;
  refresh(): Promise<boolean>;
  ready(): Promise<boolean>;
  begin(): Promise<null>;
  end(): Promise<Usage>;
  report(): Promise<ProbesReport>;
}

export interface RespondersCalls {
  start(seats: readonly Seat[], port: number): Promise<null>;
  begin(): Promise<null>;
  end(): Promise<Usage>;
}

export interface Call {
  readonly id: number;
  readonly name: string;
  readonly values: readonly unknown[];
}

export interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

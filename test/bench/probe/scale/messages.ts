// What the bench and its child processes say to each other.
import type { ProbeConfig } from "@isochrone/probe/testing";
import type { Seat } from "./cluster.ts";

/** How the probes of one process are set; all else is at its default. */
export type Pace = Pick<
  ProbeConfig,
  "intervalMs" | "publishIntervalMs" | "connectIntervalMs" | "zeroCheckIntervalMs" | "planRefreshMs"
>;

/** What a process used between `begin` and `end`. */
export interface Usage {
  readonly elapsedMs: number;
  /** User and system time of all its threads. */
  readonly cpuMs: number;
  /** Of its main thread alone. */
  readonly mainCpuMs: number;
  /** Resident, at the end. */
  readonly rssBytes: number;
}

/**
 * What the records that a process published between `begin` and `end` say, and what its /metrics pages show.
 */
export interface ProbesReport {
  /** How long all records together cover: one second of one node is one. */
  readonly nodeSeconds: number;
  readonly records: number;
  readonly bytes: number;
  /** As gzip sends them. */
  readonly compressedBytes: number;
  /** Packets by outcome. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** What was lost, by method. */
  readonly lostByMethod: Readonly<Record<string, number>>;
  readonly dropped: number;
  /** Series of each probe's page. */
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

/** Calls by name: what they are given, and what they answer. */
export interface AggregatorCalls {
  start(seats: readonly Seat[], port: number): Promise<{ readonly url: string; readonly assignMs: number }>;
  /** Probe pods come, and go. */
  addPods(): Promise<null>;
  removePods(): Promise<null>;
  begin(): Promise<null>;
  end(): Promise<Usage>;
  report(): Promise<AggregatorReport>;
}

export interface ProbesCalls {
  start(seats: readonly Seat[], port: number, aggregatorUrl: string, pace: Pace): Promise<null>;
  /** Has every probe ask for its plan now; true when all have one. */
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

/** One call over the channel between parent and child. */
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

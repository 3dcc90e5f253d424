import { CONNECTION_METRICS, type Metric } from "@isochrone/telemetry";
import { type Outside } from "@isochrone/telemetry/outside";
import { byDestination } from "./by-destination.ts";
import { ConnectionTable, type Pair } from "./connection-table.ts";
import { MESSAGE, type Connection, type NetlinkVisitor, type TableDrops } from "./netlink.ts";
import { ToldSeries } from "./told-series.ts";
import { interfaceBytesOf, TrackingJudge, type TrackingState } from "./tracking-state.ts";

interface ConnectionSource {
  ask(message: (typeof MESSAGE)[keyof typeof MESSAGE], visitor: Omit<NetlinkVisitor, "done">): Promise<void>;
  ends(onEnd: (connection: Connection) => void): number;
}

export interface KernelFiles {
  interfaces(): Promise<string>;
  /** Names of the node's network cards. @default decided by interface names */
  cards?(): Promise<readonly string[]>;
  /** net.netfilter.nf_conntrack_acct; null if the file is missing. */
  accounting(): Promise<string | null>;
  /** net.netfilter.nf_conntrack_events; null if the file is missing. @default null */
  events?(): Promise<string | null>;
}

export interface RoundResult {
  readonly metrics: readonly Metric[];
  readonly state: TrackingState;
  readonly tracked: number;
  readonly uncounted: number;
  readonly bytes: number;
  readonly leftOutBytes: number;
  readonly lostEnds: number;
  readonly duplicates: number;
  /** End events that the kernel dropped because they were read too late. */
  readonly overflows: number;
  readonly drops: TableDrops;
}

export class ConnectionRounds {
  readonly #source: ConnectionSource;
  readonly #files: KernelFiles;
  readonly #table = new ConnectionTable();
  readonly #judge = new TrackingJudge();
  readonly #outside: Outside | null;
  readonly #inside = new ToldSeries(CONNECTION_METRICS.bytes);
  readonly #beyond = new ToldSeries(CONNECTION_METRICS.outsideBytes);
  #overflows = 0;
  /** Start of the last round, monotonic ms; null before the first. */
  #beganMs: number | null = null;
  #before = {
    drops: null as TableDrops | null,
    interfaceBytes: null as number | null,
    losses: { lostEnds: 0, lostNewEnds: 0, heardEnds: 0, duplicates: 0 },
  };

  constructor(source: ConnectionSource, files: KernelFiles, outside: Outside | null = null) {
    this.#source = source;
    this.#files = files;
    this.#outside = outside;
  }

  /** Reads end events to free the kernel's buffer. */
  takeEnds(): void {
    this.#overflows += this.#source.ends((connection) => this.#table.end(connection));
  }

  /** @param monotonicMs measures the round's length, independent of clock steps */
  async round(nowMs: number, monotonicMs: number = nowMs): Promise<RoundResult> {
    this.takeEnds();
    this.#table.beginDump();
    let counted = 0;
    let uncounted = 0;
    await this.#source.ask(MESSAGE.get, {
      connection: (connection) => {
        if (connection.bytes === null) uncounted++;
        else counted++;
        this.#table.take(connection);
      },
    });
    // The first dump also expires stale connections, whose ends belong to the baseline.
    this.takeEnds();
    this.#table.endDump();
    const drops = await this.#dropsSince();
    const interfaceBytes = await this.#interfaceBytesSince();
    const { pairs, bytes } = this.#table.takeBytes();
    const { lostEnds, lostNewEnds, heardEnds, duplicates } = this.#lossesSince();
    const [accounting, events] = await Promise.all([this.#files.accounting(), this.#files.events?.()]);
    const overflows = this.#overflows;
    this.#overflows = 0;
    const state = this.#judge.judge({
      isAccounting: accounting === null ? null : accounting.trim() !== "0",
      uncounted,
      counted,
      trackedBytes: bytes,
      interfaceBytes,
      drops: drops.dropped + drops.evicted + drops.insertsFailed,
      overflows,
      isReportingEnds: events?.trim() !== "0",
      lostEnds: lostNewEnds,
      heardEnds,
    });
    const { metrics, leftOutBytes } = this.#metricsOf(pairs, nowMs, monotonicMs);
    const tracked = counted + uncounted;
    return {
      metrics,
      state,
      tracked,
      uncounted,
      bytes,
      leftOutBytes,
      lostEnds,
      duplicates,
      overflows,
      drops,
    };
  }

  async #dropsSince(): Promise<TableDrops> {
    const now = { dropped: 0, evicted: 0, insertsFailed: 0 };
    await this.#source.ask(MESSAGE.cpuStatistics, {
      drops: ({ dropped, evicted, insertsFailed }) => {
        now.dropped += dropped;
        now.evicted += evicted;
        now.insertsFailed += insertsFailed;
      },
    });
    const before = this.#before.drops ?? now;
    this.#before.drops = now;
    return {
      dropped: Math.max(0, now.dropped - before.dropped),
      evicted: Math.max(0, now.evicted - before.evicted),
      insertsFailed: Math.max(0, now.insertsFailed - before.insertsFailed),
    };
  }

  async #interfaceBytesSince(): Promise<number | null> {
    const now = interfaceBytesOf(await this.#files.interfaces(), (await this.#files.cards?.()) ?? []);
    const before = this.#before.interfaceBytes;
    this.#before.interfaceBytes = now;
    return now === null || before === null ? null : Math.max(0, now - before);
  }

  #lossesSince(): ConnectionTable["losses"] {
    const now = { ...this.#table.losses };
    const before = this.#before.losses;
    this.#before.losses = now;
    return {
      lostEnds: now.lostEnds - before.lostEnds,
      lostNewEnds: now.lostNewEnds - before.lostNewEnds,
      heardEnds: now.heardEnds - before.heardEnds,
      duplicates: now.duplicates - before.duplicates,
    };
  }

  #metricsOf(
    pairs: readonly Pair[],
    nowMs: number,
    monotonicMs: number,
  ): { readonly metrics: readonly Metric[]; readonly leftOutBytes: number } {
    const beganMs = this.#beganMs;
    this.#beganMs = monotonicMs;
    if (beganMs === null) return { metrics: [], leftOutBytes: 0 };
    const startMs = nowMs - (monotonicMs - beganMs);
    const { inside, outside } = byDestination(pairs, this.#outside);
    const told = [
      this.#inside.metricOf(inside, startMs, nowMs),
      this.#beyond.metricOf(outside, startMs, nowMs),
    ];
    return {
      metrics: told.flatMap(({ metric }) => metric ?? []),
      leftOutBytes: told.reduce((sum, { leftOutBytes }) => sum + leftOutBytes, 0),
    };
  }
}

import { CONNECTION_ATTRIBUTES, CONNECTION_METRICS, type Metric } from "@isochrone/telemetry";
import { podAddress } from "./addresses.ts";
import { ConnectionTable, type Pair } from "./connection-table.ts";
import { MESSAGE, type Connection, type NetlinkVisitor, type TableDrops } from "./netlink.ts";
import { interfaceBytesOf, TrackingJudge, type TrackingState } from "./tracking-state.ts";

/** What is asked of the kernel; a ConntrackSocket. */
interface ConnectionSource {
  ask(message: (typeof MESSAGE)[keyof typeof MESSAGE], visitor: Omit<NetlinkVisitor, "done">): Promise<void>;
  ends(onEnd: (connection: Connection) => void): number;
}

/** What the kernel says beside, of the network that the connections are of. */
export interface KernelFiles {
  /** Text of /proc/net/dev. */
  interfaces(): Promise<string>;
  /** Of net.netfilter.nf_conntrack_acct; null: there is no such file. */
  accounting(): Promise<string | null>;
}

/** What a round gives. */
export interface RoundResult {
  /** Null before the second round. */
  readonly metric: Metric | null;
  readonly state: TrackingState;
  /** Entries of the table, and those of them without counters. */
  readonly tracked: number;
  readonly uncounted: number;
  readonly bytes: number;
  readonly leftOutBytes: number;
  readonly lostEnds: number;
  readonly duplicates: number;
  readonly overflows: number;
  readonly drops: TableDrops;
}

/** Pairs that a round tells of, the largest first. */
const MAX_PAIRS = 20_000;
/** For so long a pair that went silent is told of as 0, or its channel would keep its last rate. */
const REMEMBERED_MS = 300_000;

/** Turns what the kernel tracks into increments by pair of addresses. */
export class ConnectionRounds {
  readonly #source: ConnectionSource;
  readonly #files: KernelFiles;
  readonly #table = new ConnectionTable();
  readonly #judge = new TrackingJudge();
  /** Pairs that were told of, and when they last had bytes. */
  readonly #told = new Map<string, number>();
  #overflows = 0;
  #beganMs: number | null = null;
  #before = {
    drops: null as TableDrops | null,
    interfaceBytes: null as number | null,
    losses: { lostEnds: 0, duplicates: 0 },
  };

  constructor(source: ConnectionSource, files: KernelFiles) {
    this.#source = source;
    this.#files = files;
  }

  /** Takes ends that have come, so that the kernel has room for others. */
  takeEnds(): void {
    this.#overflows += this.#source.ends((connection) => this.#table.end(connection));
  }

  async round(nowMs: number): Promise<RoundResult> {
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
    this.#table.endDump();
    this.takeEnds();
    const drops = await this.#dropsSince();
    const interfaceBytes = await this.#interfaceBytesSince();
    const { pairs, bytes } = this.#table.takeBytes();
    const { lostEnds, duplicates } = this.#lossesSince();
    const accounting = await this.#files.accounting();
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
    });
    const { metric, leftOutBytes } = this.#metricOf(pairs, nowMs);
    const tracked = counted + uncounted;
    return { metric, state, tracked, uncounted, bytes, leftOutBytes, lostEnds, duplicates, overflows, drops };
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
    const now = interfaceBytesOf(await this.#files.interfaces());
    const before = this.#before.interfaceBytes;
    this.#before.interfaceBytes = now;
    return now === null || before === null ? null : Math.max(0, now - before);
  }

  #lossesSince(): ConnectionTable["losses"] {
    const { lostEnds, duplicates } = this.#table.losses;
    const before = this.#before.losses;
    this.#before.losses = { lostEnds, duplicates };
    return { lostEnds: lostEnds - before.lostEnds, duplicates: duplicates - before.duplicates };
  }

  #metricOf(pairs: readonly Pair[], nowMs: number): { metric: Metric | null; leftOutBytes: number } {
    const startMs = this.#beganMs;
    this.#beganMs = nowMs;
    const named = pairs.flatMap((pair) => {
      const client = podAddress(pair.client);
      const server = podAddress(pair.server);
      return client === null || server === null ? [] : [{ client, server, bytes: pair.bytes }];
    });
    if (startMs === null) return { metric: null, leftOutBytes: 0 };
    const kept = named.length <= MAX_PAIRS ? named : largest(named);
    const keptBytes = kept.reduce((sum, { bytes }) => sum + bytes, 0);
    const leftOutBytes = named.reduce((sum, { bytes }) => sum + bytes, 0) - keptBytes;
    const silent = this.#silent(kept, nowMs);
    for (const { client, server } of kept) this.#told.set(`${client} ${server}`, nowMs);
    const metric: Metric = {
      name: CONNECTION_METRICS.bytes,
      unit: "By",
      kind: "sum",
      temporality: "delta",
      monotonic: true,
      points: [...kept, ...silent].map(({ client, server, bytes }) => ({
        attributes: { [CONNECTION_ATTRIBUTES.client]: client, [CONNECTION_ATTRIBUTES.server]: server },
        startMs,
        timeMs: nowMs,
        value: bytes,
      })),
    };
    return { metric: metric.points.length === 0 ? null : metric, leftOutBytes };
  }

  /** Pairs that were told of, and have nothing to tell now. */
  #silent(speaking: readonly Pair[], nowMs: number): Pair[] {
    const speak = new Set(speaking.map(({ client, server }) => `${client} ${server}`));
    const silent: Pair[] = [];
    for (const [key, toldMs] of this.#told) {
      if (nowMs - toldMs > REMEMBERED_MS) this.#told.delete(key);
      else if (!speak.has(key)) {
        const [client = "", server = ""] = key.split(" ");
        silent.push({ client, server, bytes: 0 });
      }
    }
    return silent;
  }
}

function largest(pairs: readonly Pair[]): Pair[] {
  return pairs.toSorted((a, b) => b.bytes - a.bytes).slice(0, MAX_PAIRS);
}

import type { Batch, Bus, BusRecord, OutgoingRecord, Subscription } from "@isochrone/bus";
import type { Leadership } from "@isochrone/kubernetes";
import { periodic, type Clock, type Logger, type Periodic, type Service } from "@isochrone/runtime";
import { STATE_TOPICS } from "@isochrone/telemetry";
import { isPossibleRate, TRANSPORTS, type PairBandwidth } from "../domain/bandwidth/bandwidth.ts";
import type { Tables } from "../domain/graphs/tables.ts";

interface LastBandwidthsOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tables: Tables;
  readonly leadership: Leadership;
  readonly isOwn: (record: BusRecord) => boolean;
  /** Maximum time of a test in the future. */
  readonly maxFutureMs: number;
}

interface Written {
  readonly source: string;
  readonly target: string;
  readonly text: string;
}

type Burst = ReturnType<PairBandwidth["bursts"]>[number];

const WRITE_INTERVAL_MS = 10_000;
/** Limit of pairs per publish; the next round writes the rest. */
const MAX_PAIRS = 4096;
const TOMBSTONE = new Uint8Array(0);

/**
 * Persists bandwidth tests, which are valid longer than a window. The leader writes each pair's last tests to
 * a compacted topic, and a tombstone when they expire. All replicas read it.
 */
export class LastBandwidths implements Service {
  readonly #options: LastBandwidthsOptions;
  readonly #writing: Periodic;
  readonly #written = new Map<string, Written>();
  /** Change count of each pair at its last comparison with the topic. */
  #compared = new WeakMap<PairBandwidth, number>();
  #subscription: Subscription | null = null;
  #isCaughtUp = false;

  constructor(options: LastBandwidthsOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#writing = periodic({
      clock,
      intervalMs: WRITE_INTERVAL_MS,
      run: () => this.#write(),
      onError: (error) =>
        logger.warnOnce("graph:publish", "the last bandwidths could not be written, trying again", {
          topic: STATE_TOPICS.graph,
          error,
        }),
    });
  }

  pending(): string[] {
    return this.#isCaughtUp ? [] : ["reading the last bandwidth tests from the bus"];
  }

  async start(): Promise<void> {
    this.#subscription = await this.#options.bus.subscribe({
      topics: [STATE_TOPICS.graph],
      from: "earliest",
      onBatch: async (batch) => this.#read(batch),
      onCaughtUp: () => void (this.#isCaughtUp = true),
    });
    this.#writing.start();
  }

  async stop(): Promise<void> {
    await this.#writing.stop();
    await this.#subscription?.close();
  }

  #read({ records }: Batch): void {
    for (const record of records) if (this.#options.isOwn(record)) this.#take(record);
  }

  #take({ key, value }: BusRecord): void {
    const [source, target] = key.split("/");
    if (source === undefined || target === undefined) return;
    if (value.byteLength === 0) {
      this.#written.delete(key);
      return;
    }
    const text = Buffer.from(value).toString("utf8");
    this.#written.set(key, { source, target, text });
    const { clock, logger, tables, maxFutureMs } = this.#options;
    const nowMs = clock.now();
    const bursts = parseBursts(text);
    if (bursts === null) {
      logger.warnOnce("graph:unreadable", "last bandwidth tests of a pair can't be read", { key });
      return;
    }
    const recent = bursts.filter(({ eventMs }) => eventMs <= nowMs + maxFutureMs);
    const pair = recent.length === 0 ? null : tables.bandwidth.open(source, target);
    for (const { transport, eventMs, bitsPerSecond } of recent)
      pair?.take(transport, { eventMs, nowMs }, bitsPerSecond);
  }

  async #write(): Promise<void> {
    const { bus, leadership } = this.#options;
    if (!this.#isCaughtUp || !leadership.isLeader()) return;
    const compared = new Map<PairBandwidth, number>();
    const records = [...this.#changed(compared), ...this.#expired()].slice(0, MAX_PAIRS);
    if (records.length > 0) await bus.publish(STATE_TOPICS.graph, records);
    if (records.length < MAX_PAIRS) for (const [pair, changes] of compared) this.#compared.set(pair, changes);
  }

  *#changed(compared: Map<PairBandwidth, number>): Generator<OutgoingRecord> {
    for (const pair of this.#options.tables.bandwidth.sorted()) {
      if (this.#compared.get(pair) === pair.changes) continue;
      compared.set(pair, pair.changes);
      const bursts = pair.bursts();
      const key = `${pair.source}/${pair.target}`;
      const text = JSON.stringify({ bursts });
      if (bursts.length === 0 || this.#written.get(key)?.text === text) continue;
      yield { key, value: Buffer.from(text), headers: {} };
    }
  }

  *#expired(): Generator<OutgoingRecord> {
    const { bandwidth } = this.#options.tables;
    for (const [key, { source, target }] of this.#written)
      if (bandwidth.get(source, target) === null) yield { key, value: TOMBSTONE, headers: {} };
  }
}

/** Returns null for an invalid or foreign record. */
function parseBursts(text: string): Burst[] | null {
  try {
    const { bursts } = JSON.parse(text) as { readonly bursts?: unknown };
    return Array.isArray(bursts) && bursts.every(isBurst) ? bursts : null;
  } catch {
    return null;
  }
}

function isBurst(value: unknown): value is Burst {
  if (typeof value !== "object" || value === null) return false;
  const { transport, eventMs, bitsPerSecond } = value as Partial<Record<keyof Burst, unknown>>;
  return (
    TRANSPORTS.some((known) => known === transport) &&
    typeof eventMs === "number" &&
    typeof bitsPerSecond === "number" &&
    isPossibleRate(bitsPerSecond)
  );
}

// What flows have sent last, as the network managers of their nodes tell.
import type { PointTime } from "./point-time.ts";
import { BOUNDLESS, type Room } from "./speakers/permit.ts";

/** What was sent between two readings. Milliseconds: the first two on the manager's clock. */
interface Reading {
  readonly startMs: number;
  readonly timeMs: number;
  readonly eventMs: number;
  readonly bytes: number;
}

/** A rate is of so much time at least, where there are readings: frames come in lumps. */
const AVERAGED_MS = 10_000;

/** A flow at one node. */
export interface FlowTarget {
  readonly live: boolean;
  /** @param bytes sent from the point's start to its time */
  take(point: PointTime, bytes: number): void;
}

class FlowEntry implements FlowTarget {
  live = true;
  /** Since when nothing was told; null: not looked at yet. */
  silentSinceMs: number | null = null;
  /** Oldest first. */
  #readings: Reading[] = [];

  get newestMs(): number | null {
    return this.#readings.at(-1)?.eventMs ?? null;
  }

  get bitsPerSecond(): number {
    const [oldest] = this.#readings;
    const newest = this.#readings.at(-1);
    if (oldest === undefined || newest === undefined) return 0;
    const bytes = this.#readings.reduce((sum, reading) => sum + reading.bytes, 0);
    return (bytes * 8_000) / (newest.timeMs - oldest.startMs);
  }

  take({ startMs, timeMs, eventMs }: PointTime, bytes: number): void {
    const newest = this.#readings.at(-1);
    const isNext = newest === undefined || timeMs > newest.timeMs;
    if (!(timeMs > startMs) || startMs <= 0 || !(bytes >= 0) || !isNext) return;
    // After a gap the ones before say nothing.
    const kept = newest !== undefined && startMs - newest.timeMs < AVERAGED_MS ? this.#readings : [];
    const recent = kept.filter((reading) => reading.timeMs > timeMs - AVERAGED_MS);
    this.#readings = [...recent, { startMs, timeMs, eventMs, bytes }];
  }
}

interface FlowRatesOptions {
  /** Entries at most: a flow has one at each node that sends it. */
  readonly maxEntries: number;
  /** Older rates say nothing. */
  readonly maxAgeMs: number;
}

export class FlowRates {
  readonly #options: FlowRatesOptions;
  readonly #entries = new Map<string, FlowEntry>();

  constructor(options: FlowRatesOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Null: there are too many. Takes of the room when the flow is new. */
  open(node: string, flow: string, room: Room = BOUNDLESS): FlowTarget | null {
    const key = `${node}\n${flow}`;
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    if (this.#entries.size >= this.#options.maxEntries || room.left <= 0) return null;
    room.left--;
    const entry = new FlowEntry();
    this.#entries.set(key, entry);
    return entry;
  }

  /** Bits per second that the node sends of the flow; null: unknown. */
  sent(node: string, flow: string, nowMs: number): number | null {
    const entry = this.#entries.get(`${node}\n${flow}`);
    const newestMs = entry?.newestMs ?? null;
    const isFresh = newestMs !== null && nowMs - newestMs <= this.#options.maxAgeMs;
    return isFresh ? entry!.bitsPerSecond : null;
  }

  /** Forgets flows of which nobody tells any more. */
  expire(nowMs: number): void {
    for (const [key, entry] of this.#entries) {
      entry.silentSinceMs ??= nowMs;
      const lastMs = entry.newestMs ?? entry.silentSinceMs;
      if (nowMs - lastMs <= this.#options.maxAgeMs) continue;
      entry.live = false;
      this.#entries.delete(key);
    }
  }
}

import type { Method } from "@isochrone/telemetry";
import type { FreshPackets } from "../links/link-counts.ts";
import type { LinkKey } from "../links/links.ts";
import type { Readings } from "./baselines.ts";
import type { PairPackets } from "./loss-baselines.ts";

/** Methods whose packets are not retransmitted. */
const DATAGRAM_METHODS: ReadonlySet<Method> = new Set<Method>(["udp_rr", "icmp"]);

export interface LinkReading {
  readonly key: LinkKey;
  readonly pair: number;
  /** Position in the cost's order of methods. The first method with a reading counts. */
  readonly rank: number;
  /** Milliseconds; null: too few samples. */
  readonly rtt: { readonly valueMs: number; readonly lowMs: number; readonly highMs: number } | null;
  /** Start of the current round-trip time; null: unknown. */
  readonly sinceMs: number | null;
  /** Remains true while losses of a cut may still be decided. */
  readonly isCut: boolean;
  readonly packets: FreshPackets;
}

export interface PairNames {
  readonly source: string;
  readonly target: string;
}

/**
 * Readings of all pairs at one build. Directions are merged, because a round trip crosses both. The lower
 * median counts, because a busy machine inflates its own measurements.
 */
export class PairReadings {
  #size = 0;
  #latency = columns(0);
  #ranks = new Uint8Array(0);
  #cuts = new Uint8Array(0);
  #failed = new Float64Array(0);
  #received = new Float64Array(0);
  readonly #keys: (LinkKey | undefined)[] = [];

  begin(pairs: number): void {
    if (pairs > this.#ranks.length) {
      const length = Math.max(pairs, 2 * this.#ranks.length);
      this.#latency = columns(length);
      this.#ranks = new Uint8Array(length);
      this.#cuts = new Uint8Array(length);
      this.#failed = new Float64Array(length);
      this.#received = new Float64Array(length);
    }
    this.#size = pairs;
    this.#latency.values.fill(Number.NaN);
    this.#latency.sinceMs.fill(Number.NaN);
    this.#ranks.fill(255);
    this.#cuts.fill(0);
    this.#failed.fill(0);
    this.#received.fill(0);
  }

  /** @param onRenamed called with a pair number that now belongs to other nodes */
  add(reading: LinkReading, onRenamed: (pair: number) => void): void {
    const { pair, key, isCut, packets } = reading;
    if (pair >= this.#size) return;
    const known = this.#keys[pair];
    if (known === undefined || !isSamePair(known, key)) {
      if (known !== undefined) onRenamed(pair);
      this.#keys[pair] = key;
    }
    this.#addRtt(reading);
    // TCP retransmits, so its losses show as latency.
    if (!DATAGRAM_METHODS.has(key.method)) return;
    if (isCut) this.#cuts[pair] = 1;
    this.#failed[pair]! += packets.failed;
    this.#received[pair]! += packets.received;
  }

  names(pair: number): PairNames | null {
    const key = this.#keys[pair];
    if (key === undefined) return null;
    const { source, target } = key;
    return source < target ? { source, target } : { source: target, target: source };
  }

  latency(): Readings {
    return { size: this.#size, ...this.#latency };
  }

  /** Packets of all datagram methods in both directions. */
  packets(): PairPackets {
    return { size: this.#size, failed: this.#failed, received: this.#received, cuts: this.#cuts };
  }

  #addRtt({ pair, rank, rtt, sinceMs }: LinkReading): void {
    if (rtt === null || rank > this.#ranks[pair]!) return;
    const { values, lows, highs, sinceMs: since } = this.#latency;
    const isFirst = rank < this.#ranks[pair]!;
    const began = isFirst ? Number.NaN : since[pair]!;
    // Both directions have at least the lower level, so the earlier change counts.
    if (sinceMs !== null && !(began <= sinceMs)) since[pair] = sinceMs;
    else since[pair] = began;
    if (!isFirst && values[pair]! <= rtt.valueMs) return;
    this.#ranks[pair] = rank;
    values[pair] = rtt.valueMs;
    lows[pair] = rtt.lowMs;
    highs[pair] = rtt.highMs;
  }
}

function columns(length: number): Omit<Readings, "size"> {
  return {
    values: new Float32Array(length).fill(Number.NaN),
    lows: new Float32Array(length),
    highs: new Float32Array(length),
    sinceMs: new Float64Array(length).fill(Number.NaN),
  };
}

function isSamePair(a: LinkKey, b: LinkKey): boolean {
  return (a.source === b.source && a.target === b.target) || (a.source === b.target && a.target === b.source);
}

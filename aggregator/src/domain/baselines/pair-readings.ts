import type { Method } from "@isochrone/telemetry";
import type { FreshPackets } from "../links/link-counts.ts";
import type { LinkKey } from "../links/links.ts";
import type { Readings } from "./baselines.ts";
import type { PairPackets } from "./loss-baselines.ts";

/** Methods whose packets nobody sends again. */
const DATAGRAM_METHODS: ReadonlySet<Method> = new Set<Method>(["udp_rr", "icmp"]);

/** The newest figures of one link, which is one direction and method of a pair of nodes. */
export interface LinkReading {
  readonly key: LinkKey;
  /** Number of its pair. */
  readonly pair: number;
  /** Position of its method among the cost's methods; the first that answers counts. */
  readonly rank: number;
  /** Milliseconds; null without enough samples. */
  readonly rtt: { readonly valueMs: number; readonly lowMs: number; readonly highMs: number } | null;
  /** When the round-trip time began; null: not known. */
  readonly sinceMs: number | null;
  /** True also while losses of a cut may still be decided. */
  readonly isCut: boolean;
  /** Packets since the last reading. */
  readonly packets: FreshPackets;
}

/** Nodes of a pair, in the order of their names. */
export interface PairNames {
  readonly source: string;
  readonly target: string;
}

/**
 * Readings of all pairs of nodes at one build, both directions as one: a round trip crosses both. The lower
 * of both medians counts, because a busy machine raises what it measures itself.
 */
export class PairReadings {
  #size = 0;
  #latency = columns(0);
  /** Rank of the method that the round-trip time is from. */
  #ranks = new Uint8Array(0);
  #cuts = new Uint8Array(0);
  #failed = new Float64Array(0);
  #received = new Float64Array(0);
  /** A link of each pair. */
  readonly #keys: (LinkKey | undefined)[] = [];

  /** @param pairs more than the number of any pair */
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

  /** @param onRenamed called with the number of a pair that had other nodes before */
  add(reading: LinkReading, onRenamed: (pair: number) => void): void {
    const { pair, key, isCut, packets } = reading;
    if (pair >= this.#size) return;
    const known = this.#keys[pair];
    if (known === undefined || !isSamePair(known, key)) {
      if (known !== undefined) onRenamed(pair);
      this.#keys[pair] = key;
    }
    this.#addRtt(reading);
    // TCP sends again what is lost: its losses are latency.
    if (!DATAGRAM_METHODS.has(key.method)) return;
    if (isCut) this.#cuts[pair] = 1;
    this.#failed[pair]! += packets.failed;
    this.#received[pair]! += packets.received;
  }

  /** Null if the pair has no link. */
  names(pair: number): PairNames | null {
    const key = this.#keys[pair];
    if (key === undefined) return null;
    const { source, target } = key;
    return source < target ? { source, target } : { source: target, target: source };
  }

  /** Milliseconds. */
  latency(): Readings {
    return { size: this.#size, ...this.#latency };
  }

  /** Packets of all datagram methods, in both directions. */
  packets(): PairPackets {
    return { size: this.#size, failed: this.#failed, received: this.#received, cuts: this.#cuts };
  }

  #addRtt({ pair, rank, rtt, sinceMs }: LinkReading): void {
    if (rtt === null || rank > this.#ranks[pair]!) return;
    const { values, lows, highs, sinceMs: since } = this.#latency;
    const isFirst = rank < this.#ranks[pair]!;
    const began = isFirst ? Number.NaN : since[pair]!;
    // Both directions are at least at the lower level: the earlier change is the pair's.
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

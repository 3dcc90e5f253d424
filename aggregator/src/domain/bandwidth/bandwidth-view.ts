import type { Link } from "@isochrone/topology";
import { comparePairs, type Pair, type PairBandwidth } from "./bandwidth.ts";

/** A node's network interfaces, bit/s; null: unknown. */
export interface NodeNetwork {
  readonly capacity: number | null;
  readonly receive: number | null;
  readonly transmit: number | null;
}

export type LinkBandwidth = Pick<
  Link,
  "bandwidthBitsPerSecond" | "bandwidthCapacityOrigin" | "bandwidthTransport" | "bandwidthObservedAt"
>;

/** Shared by all links without data, which are most links of a large cluster. */
const NO_BANDWIDTH: LinkBandwidth = Object.freeze({
  bandwidthBitsPerSecond: Object.freeze({ capacity: null, achieved: null, available: null }),
});

/**
 * Bandwidth from one node to another. The capacity is the smaller of both declarations. If only one end
 * declares a capacity, that is an upper bound, and the best burst counts. A missing input gives null.
 */
export function linkBandwidth(
  source: NodeNetwork | undefined,
  target: NodeNetwork | undefined,
  pair: PairBandwidth | null,
  nowMs: number,
): LinkBandwidth {
  const declared = declaredCapacity(source, target);
  if (pair === null && declared === null) return NO_BANDWIDTH;
  const burst = pair?.achieved(nowMs) ?? null;
  const achieved = burst?.bitsPerSecond ?? null;
  const details = {
    bandwidthTransport: burst?.transport ?? null,
    bandwidthObservedAt: burst === null ? null : new Date(burst.observedMs).toISOString(),
  };
  if (declared !== null) {
    const available = declaredHeadroom(source!, target!);
    const bandwidthBitsPerSecond = { capacity: declared, achieved, available };
    return { bandwidthBitsPerSecond, bandwidthCapacityOrigin: "declared", ...details };
  }
  const capacity = pair!.best(nowMs);
  return {
    bandwidthBitsPerSecond: { capacity, achieved, available: headroom(capacity, source, target) },
    bandwidthCapacityOrigin: capacity === null ? null : "measured",
    ...details,
  };
}

export function declaredCapacity(
  source: NodeNetwork | undefined,
  target: NodeNetwork | undefined,
): number | null {
  const from = source?.capacity ?? null;
  const to = target?.capacity ?? null;
  return from === null || to === null ? null : Math.min(from, to);
}

function declaredHeadroom(source: NodeNetwork, target: NodeNetwork): number | null {
  if (source.transmit === null || target.receive === null) return null;
  return Math.max(0, Math.min(source.capacity! - source.transmit, target.capacity! - target.receive));
}

/** Subtracts the busier end's use, because the bottleneck is unknown. Never overestimates. */
function headroom(
  capacity: number | null,
  source: NodeNetwork | undefined,
  target: NodeNetwork | undefined,
): number | null {
  const transmit = source?.transmit ?? null;
  const receive = target?.receive ?? null;
  if (capacity === null || transmit === null || receive === null) return null;
  return Math.max(0, capacity - Math.max(transmit, receive));
}

const NONE: readonly PairBandwidth[] = [];

/** Merges tested pairs with the graph's links. Both are sorted, so no link needs a look-up. */
export class BandwidthWalk {
  readonly #pairs: readonly PairBandwidth[];
  readonly #networks: ReadonlyMap<string, NodeNetwork>;
  readonly #anyDeclared: boolean;
  readonly #nowMs: number;
  #next = 0;
  #source = "";
  #target = "";
  #current: LinkBandwidth = NO_BANDWIDTH;

  constructor(pairs: readonly PairBandwidth[], networks: ReadonlyMap<string, NodeNetwork>, nowMs: number) {
    this.#pairs = pairs;
    this.#networks = networks;
    this.#anyDeclared = [...networks.values()].some(({ capacity }) => capacity !== null);
    this.#nowMs = nowMs;
  }

  /** Returns pairs without a link that precede the key. Call before {@link of}. */
  before(key: Pair): readonly PairBandwidth[] {
    const from = this.#next;
    while (this.#next < this.#pairs.length && comparePairs(this.#pairs[this.#next]!, key) < 0) this.#next++;
    return this.#next === from
      ? NONE
      : this.#pairs.slice(from, this.#next).filter((pair) => !this.#isCurrent(pair));
  }

  rest(): readonly PairBandwidth[] {
    return this.#pairs.slice(this.#next).filter((pair) => !this.#isCurrent(pair));
  }

  of({ source, target }: Pair): LinkBandwidth {
    if (source === this.#source && target === this.#target) return this.#current;
    this.#source = source;
    this.#target = target;
    const next = this.#pairs[this.#next];
    const pair = next !== undefined && next.source === source && next.target === target ? next : null;
    this.#current =
      pair === null && !this.#anyDeclared ? NO_BANDWIDTH : this.#ofPair({ source, target }, pair);
    return this.#current;
  }

  /** Bandwidth of a pair without a link; null if its last burst is too old. */
  ofTested(pair: PairBandwidth): LinkBandwidth | null {
    return pair.achieved(this.#nowMs) === null ? null : this.#ofPair(pair, pair);
  }

  ofDeclared(pair: Pair): LinkBandwidth {
    return this.#ofPair(pair, null);
  }

  #ofPair({ source, target }: Pair, pair: PairBandwidth | null): LinkBandwidth {
    return linkBandwidth(this.#networks.get(source), this.#networks.get(target), pair, this.#nowMs);
  }

  #isCurrent({ source, target }: PairBandwidth): boolean {
    return source === this.#source && target === this.#target;
  }
}

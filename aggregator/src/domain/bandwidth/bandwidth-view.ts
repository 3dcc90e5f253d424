import type { Link } from "@isochrone/topology";
import { comparePairs, type Pair, type PairBandwidth } from "./bandwidth.ts";

/** A node's own network interfaces, bits per second; null where not known. */
export interface NodeNetwork {
  /** As the node's object declares it. */
  readonly capacity: number | null;
  readonly receive: number | null;
  readonly transmit: number | null;
}

/** What a link says of bandwidth. */
export type LinkBandwidth = Pick<
  Link,
  "bandwidthBitsPerSecond" | "bandwidthCapacityOrigin" | "bandwidthTransport" | "bandwidthObservedAt"
>;

/** Of a link that nothing is known of: most links of a large cluster, so it has no details. */
const NO_BANDWIDTH: LinkBandwidth = Object.freeze({
  bandwidthBitsPerSecond: Object.freeze({ capacity: null, achieved: null, available: null }),
});

/**
 * Bandwidth from one node to another. The capacity is the smaller of both nodes' declarations; a declaration
 * of one end alone is a bound and no capacity, so then the best burst counts. Whatever an input lacks is
 * null.
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

/** Null unless both ends declare theirs. */
export function declaredCapacity(
  source: NodeNetwork | undefined,
  target: NodeNetwork | undefined,
): number | null {
  const from = source?.capacity ?? null;
  const to = target?.capacity ?? null;
  return from === null || to === null ? null : Math.min(from, to);
}

/** Each end's declared capacity less what it sends or receives itself; the tighter of the two. */
function declaredHeadroom(source: NodeNetwork, target: NodeNetwork): number | null {
  if (source.transmit === null || target.receive === null) return null;
  return Math.max(0, Math.min(source.capacity! - source.transmit, target.capacity! - target.receive));
}

/**
 * Which end, or what between them, bounds a measured capacity isn't known: the busier end's use is taken off,
 * which is never too little.
 */
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

/**
 * Walks the tested pairs beside the graph's links, both by source and target, so that no link costs a
 * look-up.
 */
export class BandwidthWalk {
  readonly #pairs: readonly PairBandwidth[];
  readonly #networks: ReadonlyMap<string, NodeNetwork>;
  readonly #anyDeclared: boolean;
  readonly #nowMs: number;
  #next = 0;
  #source = "";
  #target = "";
  #current: LinkBandwidth = NO_BANDWIDTH;

  /** @param networks of all nodes, by name */
  constructor(pairs: readonly PairBandwidth[], networks: ReadonlyMap<string, NodeNetwork>, nowMs: number) {
    this.#pairs = pairs;
    this.#networks = networks;
    this.#anyDeclared = [...networks.values()].some(({ capacity }) => capacity !== null);
    this.#nowMs = nowMs;
  }

  /**
   * The pairs that were passed over since the call before: they have no link. To be called before {@link of}.
   */
  before(key: Pair): readonly PairBandwidth[] {
    const from = this.#next;
    while (this.#next < this.#pairs.length && comparePairs(this.#pairs[this.#next]!, key) < 0) this.#next++;
    return this.#next === from
      ? NONE
      : this.#pairs.slice(from, this.#next).filter((pair) => !this.#isCurrent(pair));
  }

  /** The pairs behind the last link. */
  rest(): readonly PairBandwidth[] {
    return this.#pairs.slice(this.#next).filter((pair) => !this.#isCurrent(pair));
  }

  /** Of the pair's link; several methods of one pair share it. */
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

  /** Of a pair without a link; null when its last burst is too old to list it by. */
  ofTested(pair: PairBandwidth): LinkBandwidth | null {
    return pair.achieved(this.#nowMs) === null ? null : this.#ofPair(pair, pair);
  }

  /** Of a pair that was never tested. */
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

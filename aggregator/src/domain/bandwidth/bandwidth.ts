import { Window } from "@isochrone/telemetry";
import { compareText } from "../compare.ts";
import type { PointTime } from "../point-time.ts";
import { BOUNDLESS, type Room } from "../speakers/permit.ts";

/**
 * What a burst is sent by, the one that `achieved` prefers first: most of what workloads send are TCP
 * streams.
 */
export const TRANSPORTS = ["tcp", "udp"] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** How long bursts count: tests are rare, so much longer than a window of round-trip times. */
export interface BandwidthAges {
  /** An older burst no longer says what a pair achieves. */
  readonly bandwidthMaxAgeMs: number;
  /** The best burst of so long is taken for the capacity of a pair whose nodes declare none. */
  readonly bandwidthCapacityWindowMs: number;
}

/** Three tests at the probes' usual interval, and a day. */
export const DEFAULT_BANDWIDTH_AGES: BandwidthAges = {
  bandwidthMaxAgeMs: 1_800_000,
  bandwidthCapacityWindowMs: 86_400_000,
};

/** Parts in which the old leaves the capacity window. */
const CAPACITY_PANES = 24;
/** No network is so fast; a rate above is a fault of its source. */
const MAX_BITS_PER_SECOND = 1e15;

/** Length of these parts. */
function capacityPaneMs({ bandwidthCapacityWindowMs }: BandwidthAges): number {
  return bandwidthCapacityWindowMs / CAPACITY_PANES;
}

/** True for a rate that a burst can have had. Nothing got through at all is an error, not a rate. */
export function isPossibleRate(bitsPerSecond: number): boolean {
  return bitsPerSecond > 0 && bitsPerSecond <= MAX_BITS_PER_SECOND;
}

/** The newest burst of a pair that still counts. */
interface Burst {
  readonly bitsPerSecond: number;
  readonly transport: Transport;
  /** On the aggregator's clock. */
  readonly observedMs: number;
}

interface Best {
  bitsPerSecond: number;
}

/** What bursts found between two nodes, in one direction. */
export class PairBandwidth {
  readonly source: string;
  readonly target: string;
  readonly #ages: BandwidthAges;
  readonly #newest = new Map<Transport, Burst>();
  readonly #best: Window<Best>;
  live = true;
  #changes = 0;

  constructor(source: string, target: string, ages: BandwidthAges) {
    this.source = source;
    this.target = target;
    this.#ages = ages;
    this.#best = new Window({
      paneMs: capacityPaneMs(ages),
      panes: CAPACITY_PANES,
      create: () => ({ bitsPerSecond: 0 }),
      merge(into, from) {
        into.bitsPerSecond = Math.max(into.bitsPerSecond, from.bitsPerSecond);
      },
    });
  }

  /** Counts the bursts that were taken. */
  get changes(): number {
    return this.#changes;
  }

  take(
    transport: Transport,
    { eventMs, nowMs }: Pick<PointTime, "eventMs" | "nowMs">,
    bitsPerSecond: number,
  ): void {
    this.#changes++;
    const newest = this.#newest.get(transport);
    if (newest === undefined || eventMs >= newest.observedMs)
      this.#newest.set(transport, { bitsPerSecond, transport, observedMs: eventMs });
    const pane = this.#best.pane(eventMs, nowMs);
    if (pane !== null) pane.bitsPerSecond = Math.max(pane.bitsPerSecond, bitsPerSecond);
  }

  /** The newest burst of the preferred transport that has one of a fit age; transports are never merged. */
  achieved(nowMs: number): Burst | null {
    for (const transport of TRANSPORTS) {
      const burst = this.#newest.get(transport);
      if (burst !== undefined && nowMs - burst.observedMs <= this.#ages.bandwidthMaxAgeMs) return burst;
    }
    return null;
  }

  /**
   * Bits per second of the best burst of the capacity window by any transport; what the way can carry at
   * least.
   */
  best(nowMs: number): number | null {
    return this.#best.read(nowMs)?.bitsPerSecond ?? null;
  }

  /** Bursts that say all there is to say: whoever takes them, best first, has what this has. */
  bursts(): { readonly transport: Transport; readonly eventMs: number; readonly bitsPerSecond: number }[] {
    const newest = [...this.#newest.values()].sort((a, b) => a.observedMs - b.observedMs);
    const last = newest.at(-1);
    if (last === undefined) return [];
    // Which transport was the best is not known any more: the one heard of last never takes an older burst
    // for its newest.
    const best = [...this.#best.entries()].map(({ startMs, value }) => ({
      transport: last.transport,
      eventMs: Math.min(startMs, last.observedMs),
      bitsPerSecond: value.bitsPerSecond,
    }));
    return [
      ...best,
      ...newest.map(({ transport, observedMs, bitsPerSecond }) => ({
        transport,
        eventMs: observedMs,
        bitsPerSecond,
      })),
    ];
  }

  /** True when nothing is left to tell. */
  expire(nowMs: number): boolean {
    return this.#best.expire(nowMs) && this.achieved(nowMs) === null;
  }
}

/** Pairs whose bandwidth was tested. */
export class BandwidthTable {
  readonly #ages: BandwidthAges;
  readonly #maxPairs: number;
  readonly #pairs = new Map<string, PairBandwidth>();
  #sorted: readonly PairBandwidth[] | null = null;
  #refused = 0;

  constructor(ages: BandwidthAges, maxPairs: number) {
    this.#ages = ages;
    this.#maxPairs = maxPairs;
  }

  get size(): number {
    return this.#pairs.size;
  }

  /** Rates that no burst can have had. Only grows. */
  get refused(): number {
    return this.#refused;
  }

  /** Null when there are too many. */
  open(source: string, target: string, room: Room = BOUNDLESS): PairBandwidth | null {
    const id = `${source}\n${target}`;
    const known = this.#pairs.get(id);
    if (known !== undefined) return known;
    if (this.#pairs.size >= this.#maxPairs || room.left <= 0) return null;
    room.left--;
    const pair = new PairBandwidth(source, target, this.#ages);
    this.#pairs.set(id, pair);
    this.#sorted = null;
    return pair;
  }

  /** Null when it was never tested, or too long ago. */
  get(source: string, target: string): PairBandwidth | null {
    return this.#pairs.get(`${source}\n${target}`) ?? null;
  }

  /** False, and counted, for a rate that no burst can have had. */
  accepts(bitsPerSecond: number): boolean {
    if (isPossibleRate(bitsPerSecond)) return true;
    this.#refused++;
    return false;
  }

  /** By source and target, as the graph's links are. */
  sorted(): readonly PairBandwidth[] {
    this.#sorted ??= [...this.#pairs.values()].sort(comparePairs);
    return this.#sorted;
  }

  expire(nowMs: number): void {
    for (const [id, pair] of this.#pairs) {
      if (!pair.expire(nowMs)) continue;
      pair.live = false;
      this.#pairs.delete(id);
      this.#sorted = null;
    }
  }
}

/** An ordered pair of nodes. */
export interface Pair {
  readonly source: string;
  readonly target: string;
}

/** Order of pairs; negative when `a` comes first. */
export function comparePairs(a: Pair, b: Pair): number {
  return compareText(a.source, b.source) || compareText(a.target, b.target);
}

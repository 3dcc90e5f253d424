import { Window } from "@isochrone/telemetry";
import { compareText } from "../compare.ts";
import type { PointTime } from "../point-time.ts";
import { BOUNDLESS, type Room } from "../speakers/permit.ts";

/** Transports in order of preference for `achieved`: most workloads send TCP streams. */
export const TRANSPORTS = ["tcp", "udp"] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** Lifetimes of bursts. Tests are rare, so these are much longer than the window of round-trip times. */
export interface BandwidthAges {
  readonly bandwidthMaxAgeMs: number;
  /** Period of the best burst, which stands for the capacity of nodes without a declaration. */
  readonly bandwidthCapacityWindowMs: number;
}

/** Three tests at the probes' default interval, and a day. */
export const DEFAULT_BANDWIDTH_AGES: BandwidthAges = {
  bandwidthMaxAgeMs: 1_800_000,
  bandwidthCapacityWindowMs: 86_400_000,
};

const CAPACITY_PANES = 24;
const MAX_BITS_PER_SECOND = 1e15;

function capacityPaneMs({ bandwidthCapacityWindowMs }: BandwidthAges): number {
  return bandwidthCapacityWindowMs / CAPACITY_PANES;
}

/** Returns true for a plausible rate. A rate of 0 is an error. */
export function isPossibleRate(bitsPerSecond: number): boolean {
  return bitsPerSecond > 0 && bitsPerSecond <= MAX_BITS_PER_SECOND;
}

interface Burst {
  readonly bitsPerSecond: number;
  readonly transport: Transport;
  /** On the aggregator's clock. */
  readonly observedMs: number;
}

interface Best {
  bitsPerSecond: number;
}

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

  /** Newest valid burst of the preferred transport that has one. Never merges transports. */
  achieved(nowMs: number): Burst | null {
    for (const transport of TRANSPORTS) {
      const burst = this.#newest.get(transport);
      if (burst !== undefined && nowMs - burst.observedMs <= this.#ages.bandwidthMaxAgeMs) return burst;
    }
    return null;
  }

  /** Best burst of the capacity window by any transport, bit/s; a lower bound of the path's capacity. */
  best(nowMs: number): number | null {
    return this.#best.read(nowMs)?.bitsPerSecond ?? null;
  }

  /** Minimal list of bursts, best first, that restores this state. */
  bursts(): { readonly transport: Transport; readonly eventMs: number; readonly bitsPerSecond: number }[] {
    const newest = [...this.#newest.values()].sort((a, b) => a.observedMs - b.observedMs);
    const last = newest.at(-1);
    if (last === undefined) return [];
    // The transport of the best burst is not recorded. The last heard transport never takes an older burst
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

  expire(nowMs: number): boolean {
    return this.#best.expire(nowMs) && this.achieved(nowMs) === null;
  }
}

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

  get refused(): number {
    return this.#refused;
  }

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

  get(source: string, target: string): PairBandwidth | null {
    return this.#pairs.get(`${source}\n${target}`) ?? null;
  }

  /** Returns false and counts the refusal for an implausible rate. */
  accepts(bitsPerSecond: number): boolean {
    if (isPossibleRate(bitsPerSecond)) return true;
    this.#refused++;
    return false;
  }

  /** Sorted by source and target, like the graph's links. */
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

export interface Pair {
  readonly source: string;
  readonly target: string;
}

export function comparePairs(a: Pair, b: Pair): number {
  return compareText(a.source, b.source) || compareText(a.target, b.target);
}

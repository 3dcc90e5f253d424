import { recordOf } from "@isochrone/primitives";
import type { Counters, PathCounts } from "./counters.ts";
import type { FrameLayout } from "./frame.ts";
import { FLAGS, HEAD_BYTES, OUTCOMES, type PacketOutcome, type PacketRing } from "./packet-ring.ts";

const CODE = recordOf(OUTCOMES, (_, code) => code);

/** A received frame; one object, reused. */
export interface Arrival {
  source: number;
  target: number;
  bytes: Buffer;
  at: number;
  length: number;
  layout: FrameLayout;
  /** ns since the kernel's time base. */
  entryNs: number;
  entryMs: number;
  isStamped: boolean;
}

export class Recorder {
  readonly #ring: PacketRing;
  readonly #counters: Counters;
  readonly #nodes: number;
  readonly #lastLeft: Float64Array;

  constructor(ring: PacketRing, counters: Counters, nodes: number) {
    this.#ring = ring;
    this.#counters = counters;
    this.#nodes = nodes;
    this.#lastLeft = new Float64Array(nodes * nodes).fill(-1);
  }

  entered({ source, target, length, isStamped }: Arrival): void {
    this.#counters.add(source, target, "entered");
    this.#counters.add(source, target, "enteredBytes", length);
    if (!isStamped) this.#counters.addWire("unstampedEntries");
  }

  dropped(arrival: Arrival, outcome: PacketOutcome, count: keyof PathCounts): void {
    this.#counters.add(arrival.source, arrival.target, count);
    this.#note(arrival, outcome, Number.NaN, 0);
  }

  /** Records a waiting packet; returns its number. `flags`: duplicate, corrupted. */
  waits(arrival: Arrival, intendedMs: number, flags: number): number {
    const { source, target } = arrival;
    if ((flags & FLAGS.duplicate) !== 0) this.#counters.add(source, target, "duplicated");
    if ((flags & FLAGS.corrupted) !== 0) this.#counters.add(source, target, "corrupted");
    return this.#note(arrival, "waiting", intendedMs, flags);
  }

  /** The kernel accepted it; `nowNs` holds until its timestamp arrives. */
  left(packet: number, nowNs: number): void {
    const ring = this.#ring;
    if (!ring.holds(packet)) return;
    const place = ring.placeOf(packet);
    const source = ring.source[place]!;
    const target = ring.target[place]!;
    ring.exitNs[place] = nowNs;
    ring.outcome[place] = CODE.delivered;
    this.#counters.add(source, target, "delivered");
    const pair = source * this.#nodes + target;
    if (packet > this.#lastLeft[pair]!) {
      this.#lastLeft[pair] = packet;
      return;
    }
    ring.flags[place]! |= FLAGS.reordered;
    this.#counters.add(source, target, "reordered");
  }

  refused(packet: number): void {
    const ring = this.#ring;
    if (!ring.holds(packet)) return;
    const place = ring.placeOf(packet);
    ring.outcome[place] = CODE.refused;
    this.#counters.add(ring.source[place]!, ring.target[place]!, "refused");
  }

  /** Sets the kernel's departure timestamp; returns the lateness in ms, NaN for an overwritten packet. */
  stamped(packet: number, kernelTime: number): number {
    const ring = this.#ring;
    if (Number.isNaN(kernelTime) || !ring.holds(packet)) return Number.NaN;
    const place = ring.placeOf(packet);
    ring.exitNs[place] = kernelTime;
    ring.flags[place]! |= FLAGS.exitStamped;
    return (kernelTime - ring.entryNs[place]!) / 1e6 - ring.intendedMs[place]!;
  }

  #note(arrival: Arrival, outcome: PacketOutcome, intendedMs: number, flags: number): number {
    const { source, target, bytes, at, length, layout, entryNs, isStamped } = arrival;
    const ring = this.#ring;
    const place = ring.placeOf(ring.written);
    ring.entryNs[place] = entryNs;
    ring.exitNs[place] = Number.NaN;
    ring.intendedMs[place] = intendedMs;
    ring.bytes[place] = length;
    ring.source[place] = source;
    ring.target[place] = target;
    ring.outcome[place] = CODE[outcome];
    ring.flags[place] = flags | (isStamped ? FLAGS.entryStamped : 0) | (layout.family === 6 ? FLAGS.v6 : 0);
    ring.protocol[place] = layout.protocol;
    const headLength = Math.min(HEAD_BYTES, layout.end - layout.transportAt);
    ring.headLength[place] = headLength;
    const from = at + layout.transportAt;
    bytes.copy(ring.heads, place * HEAD_BYTES, from, from + headLength);
    return ring.publish();
  }
}

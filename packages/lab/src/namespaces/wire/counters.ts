import { recordOf } from "@isochrone/primitives";

export interface PathCounts {
  readonly entered: number;
  readonly enteredBytes: number;
  readonly delivered: number;
  readonly lost: number;
  readonly cut: number;
  /** The rate's or the emulator's queue was full. */
  readonly queueFull: number;
  /** Refused by the kernel, for example because the receiver's device is down. */
  readonly refused: number;
  readonly duplicated: number;
  readonly corrupted: number;
  /** Left after a packet of the same path that entered later (RFC 4737). */
  readonly reordered: number;
}

export const PATH_COUNTS = [
  "entered",
  "enteredBytes",
  "delivered",
  "lost",
  "cut",
  "queueFull",
  "refused",
  "duplicated",
  "corrupted",
  "reordered",
] as const satisfies readonly (keyof PathCounts)[];

export interface WireCounts {
  /** Frames other than unicast between nodes: multicast, foreign addresses, longer than the MTU. */
  readonly ignored: number;
  /** Frames that the kernel dropped because the emulator read too slowly. Not in the record. */
  readonly overrun: number;
  /** Packets timed by the emulator's clock for lack of a kernel timestamp of entry. */
  readonly unstampedEntries: number;
  /** Entry timestamps in the future or over a second old: the clock was set, or the emulator stalled. */
  readonly oddStamps: number;
  readonly mostWaiting: number;
  /** How early a frame is passed to the kernel, µs; learned from kernel timestamps. */
  readonly leadUs: number;
}

const WIRE_COUNTS = [
  "ignored",
  "overrun",
  "unstampedEntries",
  "oddStamps",
  "mostWaiting",
  "leadUs",
] as const satisfies readonly (keyof WireCounts)[];

/** Counters in shared memory, written by one thread and read by another. */
export class Counters {
  readonly #nodes: number;
  readonly #paths: Float64Array;
  readonly #wire: Float64Array;

  static allocate(nodes: number): SharedArrayBuffer {
    return new SharedArrayBuffer(8 * (nodes * nodes * PATH_COUNTS.length + WIRE_COUNTS.length));
  }

  constructor(nodes: number, buffer: SharedArrayBuffer) {
    this.#nodes = nodes;
    const length = nodes * nodes * PATH_COUNTS.length;
    this.#paths = new Float64Array(buffer, 0, length);
    this.#wire = new Float64Array(buffer, 8 * length, WIRE_COUNTS.length);
  }

  add(source: number, target: number, count: keyof PathCounts, by = 1): void {
    const at = (source * this.#nodes + target) * PATH_COUNTS.length + PATH_COUNTS.indexOf(count);
    this.#paths[at]! += by;
  }

  addWire(count: keyof WireCounts, by = 1): void {
    this.#wire[WIRE_COUNTS.indexOf(count)]! += by;
  }

  setWire(count: keyof WireCounts, value: number): void {
    this.#wire[WIRE_COUNTS.indexOf(count)] = value;
  }

  maxWire(count: keyof WireCounts, value: number): void {
    const at = WIRE_COUNTS.indexOf(count);
    if (value > this.#wire[at]!) this.#wire[at] = value;
  }

  path(source: number, target: number): PathCounts {
    const from = (source * this.#nodes + target) * PATH_COUNTS.length;
    return recordOf(PATH_COUNTS, (_, i) => this.#paths[from + i]!);
  }

  wire(): WireCounts {
    return recordOf(WIRE_COUNTS, (_, i) => this.#wire[i]!);
  }
}

import { recordOf } from "@isochrone/primitives";

/** Counted for every ordered pair of nodes since the wire's start, or the packets of one query. */
export interface PathCounts {
  /** Packets that came in; copies made by the emulator are not among them. */
  readonly entered: number;
  readonly enteredBytes: number;
  /** Packets that went out, copies too. */
  readonly delivered: number;
  /** By the drawn loss. */
  readonly lost: number;
  readonly cut: number;
  /** The rate's queue or the emulator's own was full. */
  readonly queueFull: number;
  /** The kernel didn't take it, e.g. because the receiver's device is down. */
  readonly refused: number;
  /** Copies made. */
  readonly duplicated: number;
  readonly corrupted: number;
  /** Went out after one of the same path that had come in later (RFC 4737). */
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

/** Counted for the whole wire. */
export interface WireCounts {
  /**
   * Frames that are no unicast of one node to another: multicast, foreign addresses, longer than the MTU
   * allows.
   */
  readonly ignored: number;
  /** Frames that the kernel dropped because the emulator didn't read fast enough. They are in no record. */
  readonly overrun: number;
  /** Packets without the kernel's stamp of entry; the emulator's clock stands in. */
  readonly unstampedEntries: number;
  /**
   * Entry stamps that lay in the future or more than a second back: the system's clock was set, or the
   * emulator stood still.
   */
  readonly oddStamps: number;
  /** Most frames that ever waited at once. */
  readonly mostWaiting: number;
  /** How long before its time a frame is given to the kernel, µs: learned from the kernel's stamps. */
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

/** Numbers in memory that one thread writes and another reads. */
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

/** What became of a packet; the position is its code in the ring. */
export const OUTCOMES = ["waiting", "delivered", "lost", "cut", "queue_full", "refused"] as const;
export type PacketOutcome = (typeof OUTCOMES)[number];

/** Of a packet, as bits. */
export const FLAGS = {
  duplicate: 1,
  corrupted: 2,
  reordered: 4,
  /** Entry and exit are the kernel's stamps, not the emulator's clock. */
  entryStamped: 8,
  exitStamped: 16,
  v6: 32,
} as const;

/** Bytes kept of every packet from its transport header on. */
export const HEAD_BYTES = 80;

/** Memory of the ring, to give to another thread. */
export interface PacketRingMemory {
  readonly capacity: number;
  readonly buffer: SharedArrayBuffer;
}

/**
 * The last packets, in memory that one thread writes and another reads without disturbing it. A packet's
 * number counts from 0 and never changes; its place in the ring is taken again after `capacity` others.
 */
export class PacketRing {
  readonly capacity: number;
  /** ns since the writer's time base; NaN where there is none. */
  readonly entryNs: Float64Array;
  readonly exitNs: Float64Array;
  /** Delay that was intended, ms. */
  readonly intendedMs: Float64Array;
  readonly bytes: Uint16Array;
  readonly source: Uint8Array;
  readonly target: Uint8Array;
  readonly outcome: Uint8Array;
  readonly flags: Uint8Array;
  /** Of IP: 1 ICMP, 6 TCP, 17 UDP, 58 ICMPv6. */
  readonly protocol: Uint8Array;
  readonly headLength: Uint8Array;
  readonly heads: Uint8Array;
  readonly #written: Uint32Array;

  static allocate(capacity: number): PacketRingMemory {
    const perPacket = 3 * 8 + 2 + 6 + HEAD_BYTES;
    return { capacity, buffer: new SharedArrayBuffer(8 + capacity * perPacket) };
  }

  constructor({ capacity, buffer }: PacketRingMemory) {
    this.capacity = capacity;
    let at = 8;
    const next = (bytesEach: number): [SharedArrayBuffer, number, number] => {
      const from = at;
      at += bytesEach * capacity;
      return [buffer, from, capacity];
    };
    this.#written = new Uint32Array(buffer, 0, 1);
    this.entryNs = new Float64Array(...next(8));
    this.exitNs = new Float64Array(...next(8));
    this.intendedMs = new Float64Array(...next(8));
    this.bytes = new Uint16Array(...next(2));
    this.source = new Uint8Array(...next(1));
    this.target = new Uint8Array(...next(1));
    this.outcome = new Uint8Array(...next(1));
    this.flags = new Uint8Array(...next(1));
    this.protocol = new Uint8Array(...next(1));
    this.headLength = new Uint8Array(...next(1));
    this.heads = new Uint8Array(buffer, at, capacity * HEAD_BYTES);
  }

  /** Packets ever written. Wraps after 2^32, a day at 50,000/s: labs live for minutes. */
  get written(): number {
    return Atomics.load(this.#written, 0);
  }

  /** Number of the oldest packet that is still there. */
  get oldest(): number {
    return Math.max(0, this.written - this.capacity);
  }

  placeOf(packet: number): number {
    return packet % this.capacity;
  }

  /** False once the packet's place was taken again. */
  holds(packet: number): boolean {
    return packet >= this.oldest;
  }

  /** Makes the packet visible that was written at `placeOf(written)`; returns its number. */
  publish(): number {
    return Atomics.add(this.#written, 0, 1);
  }
}

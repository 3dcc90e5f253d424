/** Outcome of a packet; the index is its code in the ring. */
export const OUTCOMES = ["waiting", "delivered", "lost", "cut", "queue_full", "refused"] as const;
export type PacketOutcome = (typeof OUTCOMES)[number];

export const FLAGS = {
  duplicate: 1,
  corrupted: 2,
  reordered: 4,
  /** Entry and exit have kernel timestamps. */
  entryStamped: 8,
  exitStamped: 16,
  v6: 32,
} as const;

export const HEAD_BYTES = 80;

export interface PacketRingMemory {
  readonly capacity: number;
  readonly buffer: SharedArrayBuffer;
}

/**
 * Ring of the last packets in shared memory, written by one thread and read lock-free by another. Packet
 * numbers count from 0; a place is reused after `capacity` further packets.
 */
export class PacketRing {
  readonly capacity: number;
  /** ns since the writer's time base; NaN if unknown. */
  readonly entryNs: Float64Array;
  readonly exitNs: Float64Array;
  readonly intendedMs: Float64Array;
  readonly bytes: Uint16Array;
  readonly source: Uint8Array;
  readonly target: Uint8Array;
  readonly outcome: Uint8Array;
  readonly flags: Uint8Array;
  /** IP protocol: 1 ICMP, 6 TCP, 17 UDP, 58 ICMPv6. */
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

  /** Packets ever written. Wraps after 2^32, a day at 50,000/s; labs live for minutes. */
  get written(): number {
    return Atomics.load(this.#written, 0);
  }

  get oldest(): number {
    return Math.max(0, this.written - this.capacity);
  }

  placeOf(packet: number): number {
    return packet % this.capacity;
  }

  /** False once the packet's place was reused. */
  holds(packet: number): boolean {
    return packet >= this.oldest;
  }

  /** Publishes the packet written at `placeOf(written)`; returns its number. */
  publish(): number {
    return Atomics.add(this.#written, 0, 1);
  }
}

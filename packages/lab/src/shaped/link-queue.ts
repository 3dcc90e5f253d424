// One direction of a link: packets wait in HTB-like classes and leave at the link's capacity.
import type { Clock } from "@isochrone/runtime";
import type { QueueClass } from "./node-rules.ts";

interface Sized {
  readonly bytes: number;
}

export interface ClassCounters {
  readonly sentBytes: number;
  /** Nothing is dropped: senders wait. */
  readonly droppedPackets: 0;
  readonly queuedPackets: number;
}

/** Largest credit for a late timer or an idle class, ms. */
const CREDIT_MS = 150;
/** Default class, which gets remaining capacity. */
const UNMARKED: QueueClass = {
  minor: 0,
  parent: null,
  rateBitsPerSecond: Infinity,
  ceilBitsPerSecond: Infinity,
  priority: -1,
};

/** Packets of one class and its next sending time, monotonic ms. */
class ClassQueue<Packet extends Sized> {
  spec: QueueClass;
  sentBytes = 0;
  rateFreeMs = 0;
  ceilFreeMs = 0;
  /** Turn of its last packet: the longest wait goes first. */
  turn = 0;
  #packets: Packet[] = [];
  #head = 0;

  constructor(spec: QueueClass) {
    this.spec = spec;
  }

  get length(): number {
    return this.#packets.length - this.#head;
  }

  get isEmpty(): boolean {
    return this.length === 0;
  }

  push(packet: Packet): void {
    this.#packets.push(packet);
  }

  shift(): Packet {
    const packet = this.#packets[this.#head++]!;
    if (this.#head > 64 && this.#head * 2 > this.#packets.length) {
      this.#packets = this.#packets.slice(this.#head);
      this.#head = 0;
    }
    return packet;
  }

  spend(bits: number, nowMs: number): void {
    this.rateFreeMs = spent(this.rateFreeMs, this.spec.rateBitsPerSecond, bits, nowMs);
    this.ceilFreeMs = spent(this.ceilFreeMs, this.spec.ceilBitsPerSecond, bits, nowMs);
  }
}

function spent(freeMs: number, bitsPerSecond: number, bits: number, nowMs: number): number {
  return Math.max(freeMs, nowMs - CREDIT_MS) + (bits / bitsPerSecond) * 1_000;
}

interface LinkQueueOptions<Packet> {
  readonly bitsPerSecond: number;
  readonly clock: Clock;
  readonly onSent: (packet: Packet) => void;
}

export class LinkQueue<Packet extends Sized> {
  readonly #options: LinkQueueOptions<Packet>;
  readonly #classes = new Map<number, ClassQueue<Packet>>([[0, new ClassQueue(UNMARKED)]]);
  /** Classes of links, which have no packets themselves. */
  readonly #parents = new Map<number, ClassQueue<Packet>>();
  #bitsPerSecond: number;
  #wireFreeMs = 0;
  #turn = 0;
  /** Time of the next timer, monotonic ms. */
  #wakeAtMs = Infinity;
  readonly #stop = new AbortController();
  #isSending = false;

  constructor(options: LinkQueueOptions<Packet>) {
    this.#options = options;
    this.#bitsPerSecond = options.bitsPerSecond;
  }

  setCapacity(bitsPerSecond: number): void {
    this.#bitsPerSecond = bitsPerSecond;
  }

  /** Packets of a removed class move to the default class. */
  setClasses(classes: Iterable<QueueClass>): void {
    const specs = new Map([...classes].map((spec) => [spec.minor, spec]));
    const parents = new Set([...specs.values()].map(({ parent }) => parent));
    const isParent = (minor: number): boolean => parents.has(minor);
    for (const [kept, isKept] of [
      [this.#classes, (minor: number) => minor === 0 || (specs.has(minor) && !isParent(minor))],
      [this.#parents, (minor: number) => specs.has(minor) && isParent(minor)],
    ] as const)
      for (const [minor, queue] of kept)
        if (!isKept(minor)) {
          kept.delete(minor);
          while (!queue.isEmpty) this.#classes.get(0)!.push(queue.shift());
        }
    for (const [minor, spec] of specs) {
      const queues = isParent(minor) ? this.#parents : this.#classes;
      const queue = queues.get(minor);
      if (queue === undefined) queues.set(minor, new ClassQueue(spec));
      else queue.spec = spec;
    }
    this.#send();
  }

  counters(): Map<number, ClassCounters> {
    return new Map(
      [...this.#classes, ...this.#parents].map(([minor, { sentBytes, length }]) => [
        minor,
        { sentBytes, droppedPackets: 0, queuedPackets: length },
      ]),
    );
  }

  put(packet: Packet, minor: number): void {
    (this.#classes.get(minor) ?? this.#classes.get(0)!).push(packet);
    this.#send();
  }

  stop(): void {
    this.#stop.abort();
  }

  #send(): void {
    if (this.#isSending || this.#stop.signal.aborted) return;
    this.#isSending = true;
    const { clock, onSent } = this.#options;
    try {
      for (;;) {
        const nowMs = clock.monotonic();
        const next = this.#wireFreeMs > nowMs ? null : this.#next(nowMs);
        if (next === null) {
          this.#wakeUp(nowMs);
          return;
        }
        onSent(this.#take(next, nowMs));
      }
    } finally {
      this.#isSending = false;
    }
  }

  #take(queue: ClassQueue<Packet>, nowMs: number): Packet {
    const packet = queue.shift();
    const bits = packet.bytes * 8;
    this.#wireFreeMs = spent(this.#wireFreeMs, this.#bitsPerSecond, bits, nowMs);
    for (const each of [queue, this.#parentOf(queue)]) {
      if (each === undefined) continue;
      each.spend(bits, nowMs);
      each.sentBytes += packet.bytes;
    }
    queue.turn = ++this.#turn;
    return packet;
  }

  #parentOf({ spec }: ClassQueue<Packet>): ClassQueue<Packet> | undefined {
    return spec.parent === null ? undefined : this.#parents.get(spec.parent);
  }

  /** Classes below their rate first, then borrowers; by priority, then round-robin. */
  #next(nowMs: number): ClassQueue<Packet> | null {
    let best: ClassQueue<Packet> | null = null;
    for (const queue of this.#classes.values()) {
      if (queue.isEmpty || this.#freeMs(queue) > nowMs) continue;
      if (best === null || isBefore(queue, best, nowMs)) best = queue;
    }
    return best;
  }

  #freeMs(queue: ClassQueue<Packet>): number {
    return Math.max(queue.ceilFreeMs, this.#parentOf(queue)?.ceilFreeMs ?? 0);
  }

  #wakeUp(nowMs: number): void {
    let atMs = Infinity;
    for (const queue of this.#classes.values())
      if (!queue.isEmpty) atMs = Math.min(atMs, Math.max(this.#wireFreeMs, this.#freeMs(queue)));
    if (atMs >= this.#wakeAtMs) return;
    this.#wakeAtMs = atMs;
    const { clock } = this.#options;
    void clock.sleep(Math.max(1, Math.ceil(atMs - nowMs)), this.#stop.signal).then(
      () => this.#woken(atMs),
      () => undefined,
    );
  }

  #woken(atMs: number): void {
    if (this.#wakeAtMs === atMs) this.#wakeAtMs = Infinity;
    this.#send();
  }
}

function isBefore<Packet extends Sized>(
  one: ClassQueue<Packet>,
  other: ClassQueue<Packet>,
  nowMs: number,
): boolean {
  const borrows = (queue: ClassQueue<Packet>): number => (queue.rateFreeMs > nowMs ? 1 : 0);
  return (
    (borrows(one) - borrows(other) || one.spec.priority - other.spec.priority || one.turn - other.turn) < 0
  );
}

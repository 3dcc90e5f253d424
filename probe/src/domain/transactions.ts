/**
 * What an answer turned out to be. `unknown`: no such packet was sent, or so long ago that it is forgotten.
 */
type Settlement =
  | {
      readonly kind: "received";
      readonly sentMs: number;
      readonly plannedMs: number;
      /** Kernel's time of the departure, ns; NaN: not known. */
      readonly departedNs: number;
    }
  /**
   * After the timeout; `late_first` when no timer had declared the loss yet, so that the caller counts it.
   */
  | { readonly kind: "late" | "late_first" }
  | { readonly kind: "duplicate" }
  | { readonly kind: "unknown" };

type State = "empty" | "waiting" | "received" | "lost" | "late";

interface Slot {
  sequence: number;
  sentMs: number;
  plannedMs: number;
  departedNs: number;
  state: State;
}

const SEQUENCE_SPACE = 2 ** 32;

/**
 * The packets of one flow that were sent lately, in a ring by sequence. Each is decided once: received, or
 * lost after the timeout. A late answer stays a lost packet's answer and is never taken for the next one's.
 */
export class Transactions {
  readonly #slots: Slot[];
  readonly #timeoutMs: number;
  #next = 0;
  /** The oldest sequence that may still wait; all before are decided. */
  #oldest = 0;
  #waiting = 0;
  /** The first sequence after the last packet that came. */
  #silentFrom = 0;
  #unanswered = 0;

  /**
   * `capacity`: a power of two (or a sequence's wrap would move its place) above the number of packets that
   * can wait at once.
   */
  constructor(timeoutMs: number, capacity: number) {
    this.#timeoutMs = timeoutMs;
    this.#slots = Array.from({ length: capacity }, (): Slot => ({
      sequence: 0,
      sentMs: 0,
      plannedMs: 0,
      departedNs: Number.NaN,
      state: "empty",
    }));
  }

  /** The sequence of the packet to be sent next. */
  get nextSequence(): number {
    return this.#next % SEQUENCE_SPACE;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Packets that are lost, of those that were sent since the last {@link heard}. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** Counts `unanswered` anew, from the next packet on. */
  heard(): void {
    this.#silentFrom = this.#next;
    this.#unanswered = 0;
  }

  /**
   * Says that the next packet went out. Returns how many waiting ones it pushed out of the ring undecided
   * (they count as lost).
   */
  sent(sentMs: number, plannedMs: number = sentMs): number {
    let pushedOut = 0;
    if (this.#next - this.#oldest >= this.#slots.length) pushedOut = this.#decide(this.#oldest++);
    const slot = this.#slot(this.#next);
    slot.sequence = this.#next % SEQUENCE_SPACE;
    slot.sentMs = sentMs;
    slot.plannedMs = plannedMs;
    slot.departedNs = Number.NaN;
    slot.state = "waiting";
    this.#next++;
    this.#waiting++;
    return pushedOut;
  }

  /** Corrects the send time of the latest packet. */
  restamp(sentMs: number): void {
    const slot = this.#slot(this.#next - 1);
    slot.sentMs = sentMs;
  }

  /**
   * Notes the kernel's stamp of a packet's departure. Only the first counts: a stream's retransmission is
   * stamped again.
   */
  departed(sequence: number, kernelNs: number): void {
    const slot = this.#slot(sequence);
    if (slot.sequence === sequence && Number.isNaN(slot.departedNs)) slot.departedNs = kernelNs;
  }

  /** Takes back the latest `sent`: the kernel refused the packet. */
  takeBack(): void {
    const slot = this.#slot(this.#next - 1);
    if (slot.state !== "waiting") return;
    slot.state = "empty";
    this.#waiting--;
  }

  /** When the oldest waiting packet times out; null when none waits. */
  nextDeadlineMs(): number | null {
    while (this.#oldest < this.#next && this.#slot(this.#oldest).state !== "waiting") this.#oldest++;
    return this.#oldest < this.#next ? this.#slot(this.#oldest).sentMs + this.#timeoutMs : null;
  }

  /** Declares lost what has waited longer than the timeout; returns how many. */
  expire(nowMs: number): number {
    let lost = 0;
    for (
      let deadline = this.nextDeadlineMs();
      deadline !== null && deadline <= nowMs;
      deadline = this.nextDeadlineMs()
    ) {
      lost += this.#decide(this.#oldest++);
    }
    return lost;
  }

  /** Declares lost whatever still waits, e.g. because its connection is gone. */
  expireAll(): number {
    return this.expire(Number.POSITIVE_INFINITY);
  }

  /**
   * Judges an answer received at `atMs`. `graceMs` lengthens the timeout by what is known to be this side's
   * own delay.
   */
  settle(sequence: number, atMs: number, graceMs = 0): Settlement {
    const slot = this.#slot(sequence);
    if (slot.sequence !== sequence || slot.state === "empty") return { kind: "unknown" };
    if (slot.state === "waiting") {
      this.#waiting--;
      if (atMs - slot.sentMs <= this.#timeoutMs + graceMs) {
        slot.state = "received";
        const { sentMs, plannedMs, departedNs } = slot;
        return { kind: "received", sentMs, plannedMs, departedNs };
      }
      slot.state = "late";
      return { kind: "late_first" };
    }
    if (slot.state === "lost") {
      slot.state = "late";
      return { kind: "late" };
    }
    return { kind: "duplicate" };
  }

  #decide(sequence: number): number {
    const slot = this.#slot(sequence);
    if (slot.state !== "waiting") return 0;
    slot.state = "lost";
    this.#waiting--;
    if (sequence >= this.#silentFrom) this.#unanswered++;
    return 1;
  }

  #slot(sequence: number): Slot {
    return this.#slots[sequence % this.#slots.length]!;
  }
}

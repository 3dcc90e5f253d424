/** Result of matching an answer. `unknown`: no such packet was sent, or it is forgotten. */
type Settlement =
  | {
      readonly kind: "received";
      readonly sentMs: number;
      readonly plannedMs: number;
      /** Kernel departure stamp, ns; NaN: unknown. */
      readonly departedNs: number;
    }
  /** After the timeout. `late_first`: no timer had declared the loss yet, so the caller counts it. */
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
 * A flow's recent packets in a ring by sequence. Each is decided once: received, or lost after the timeout. A
 * late answer is never matched to another packet.
 */
export class Transactions {
  readonly #slots: Slot[];
  readonly #timeoutMs: number;
  #next = 0;
  #oldest = 0;
  #waiting = 0;
  #silentFrom = 0;
  #unanswered = 0;

  /** @param capacity a power of two (for sequence wrap-around) above the maximum number of waiting packets */
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

  get nextSequence(): number {
    return this.#next % SEQUENCE_SPACE;
  }

  get waiting(): number {
    return this.#waiting;
  }

  get unanswered(): number {
    return this.#unanswered;
  }

  /** Resets `unanswered`, from the next packet on. */
  heard(): void {
    this.#silentFrom = this.#next;
    this.#unanswered = 0;
  }

  /** Records a send. Returns the number of waiting packets pushed out of the ring (they count as lost). */
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

  restamp(sentMs: number): void {
    const slot = this.#slot(this.#next - 1);
    slot.sentMs = sentMs;
  }

  /** Records a departure stamp. Only the first one counts: TCP stamps retransmissions again. */
  departed(sequence: number, kernelNs: number): void {
    const slot = this.#slot(sequence);
    if (slot.sequence === sequence && Number.isNaN(slot.departedNs)) slot.departedNs = kernelNs;
  }

  /** Undoes the latest `sent`: the kernel refused the packet. */
  takeBack(): void {
    const slot = this.#slot(this.#next - 1);
    if (slot.state !== "waiting") return;
    slot.state = "empty";
    this.#waiting--;
  }

  nextDeadlineMs(): number | null {
    while (this.#oldest < this.#next && this.#slot(this.#oldest).state !== "waiting") this.#oldest++;
    return this.#oldest < this.#next ? this.#slot(this.#oldest).sentMs + this.#timeoutMs : null;
  }

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

  expireAll(): number {
    return this.expire(Number.POSITIVE_INFINITY);
  }

  /** Matches an answer received at `atMs`. `graceMs` extends the timeout by this side's own delay. */
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

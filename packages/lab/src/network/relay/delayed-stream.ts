import type { Socket } from "node:net";
import type { RelayContext } from "./context.ts";
import type { Path } from "./path.ts";

/**
 * Bytes that one way of a connection holds at most: reading stops there, so that the sender is slowed down.
 * It is the window of the emulated connection: no more than this passes in the time of one way.
 */
const MAX_HELD_BYTES = 1024 * 1024;

type Step =
  | { readonly kind: "data"; readonly chunk: Buffer }
  | { readonly kind: "end" }
  | { readonly kind: "reset" };

/** Something under way, in the order in which it must arrive. */
interface Item {
  readonly step: Step;
  readonly arrivedMs: number;
  dueMs: number;
  /** Called with the time spent inside, when the other end gets it. */
  readonly onRelease: ((spentMs: number, nowMs: number) => void) | null;
}

/** What the connection wants to know of one way. */
interface StreamObserver {
  /** A chunk came in; the result is called when it goes out. */
  arrived(nowMs: number): ((spentMs: number, nowMs: number) => void) | null;
  /** A chunk was sent more than once. */
  retransmitted(count: number, nowMs: number): void;
}

/** One way of a TCP connection: bytes, then its end or its reset, delayed in order. */
export class DelayedStream {
  readonly #context: RelayContext;
  readonly #path: Path;
  readonly #from: Socket;
  readonly #observer: StreamObserver;
  /** Nothing counts as sent before: the handshake takes its time. */
  readonly #notBeforeMs: number;
  #items: Item[] = [];
  #heldBytes = 0;
  #lastDueMs = 0;
  #to: Socket | null = null;
  #waitsForDrain = false;
  #abandoned = false;
  #stopWaiting: (() => void) | null = null;

  constructor(
    context: RelayContext,
    path: Path,
    from: Socket,
    notBeforeMs: number,
    observer: StreamObserver,
  ) {
    this.#context = context;
    this.#path = path;
    this.#from = from;
    this.#notBeforeMs = notBeforeMs;
    this.#observer = observer;
    from.on("data", (chunk: Buffer) => this.#accept({ kind: "data", chunk }, chunk.length));
    from.once("end", () => this.#accept({ kind: "end" }, 0));
    from.on("error", () => this.#accept({ kind: "reset" }, 0));
  }

  /** Where it goes to, once that is connected or connecting. */
  attach(to: Socket): void {
    this.#to = to;
    to.on("drain", () => {
      this.#waitsForDrain = false;
      this.#pump();
    });
    to.once("close", () => this.abandon());
    this.#pump();
  }

  /**
   * Nobody is left to receive: what comes is read and thrown away, so that the sender's own end is still
   * seen.
   */
  abandon(): void {
    if (this.#abandoned) return;
    this.#abandoned = true;
    this.#stopWaiting?.();
    this.#items = [];
    this.#heldBytes = 0;
    this.#from.resume();
  }

  #accept(step: Step, bytes: number): void {
    if (this.#abandoned) return;
    const nowMs = this.#context.monotonic();
    const arrivedMs = Math.max(nowMs, this.#notBeforeMs);
    const onRelease = step.kind === "data" ? this.#observer.arrived(nowMs) : null;
    const { dueMs, retransmissions } = this.#path.admitChunk(bytes, nowMs, arrivedMs);
    if (retransmissions > 0) this.#observer.retransmitted(retransmissions, nowMs);
    this.#lastDueMs = Math.max(dueMs, this.#lastDueMs);
    this.#items.push({ step, arrivedMs, dueMs: this.#lastDueMs, onRelease });
    this.#heldBytes += bytes;
    if (this.#heldBytes >= MAX_HELD_BYTES) this.#from.pause();
    this.#context.queue.add(this.#lastDueMs, () => this.#pump());
  }

  /** Passes on everything that is due, until the receiver has enough or the path stalls. */
  #pump(): void {
    for (let item = this.#items[0]; item !== undefined; item = this.#items[0]) {
      const nowMs = this.#context.monotonic();
      if (this.#to === null || this.#waitsForDrain || item.dueMs > nowMs) return;
      if (this.#path.stalls) {
        this.#stopWaiting ??= this.#path.onceHealed((healedMs) => this.#resumeAt(healedMs));
        return;
      }
      this.#items.shift();
      this.#pass(item.step, this.#to);
      item.onRelease?.(nowMs - item.arrivedMs, nowMs);
    }
  }

  #pass(step: Step, to: Socket): void {
    if (step.kind === "end") to.end();
    else if (step.kind === "reset") to.resetAndDestroy();
    else {
      this.#waitsForDrain = !to.write(step.chunk);
      this.#heldBytes -= step.chunk.length;
      if (this.#heldBytes < MAX_HELD_BYTES / 2 && this.#from.isPaused()) this.#from.resume();
    }
  }

  /** What was under way when the path stalled is sent again: it arrives one way's delay after the healing. */
  #resumeAt(healedMs: number): void {
    this.#stopWaiting = null;
    const dueMs = healedMs + this.#path.delayMs;
    for (const item of this.#items) item.dueMs = Math.max(item.dueMs, dueMs);
    this.#lastDueMs = Math.max(this.#lastDueMs, dueMs);
    this.#context.queue.add(dueMs, () => this.#pump());
  }
}

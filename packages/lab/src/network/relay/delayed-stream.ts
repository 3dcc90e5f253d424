import type { Socket } from "node:net";
import type { RelayContext } from "./context.ts";
import type { Path } from "./path.ts";

/** Window per direction: at this many bytes in flight reading stops, which slows the sender down. */
const MAX_HELD_BYTES = 1024 * 1024;

type Step =
  | { readonly kind: "data"; readonly chunk: Buffer }
  | { readonly kind: "end" }
  | { readonly kind: "reset" };

interface Item {
  readonly step: Step;
  readonly arrivedMs: number;
  dueMs: number;
  readonly onRelease: ((spentMs: number, nowMs: number) => void) | null;
}

interface StreamObserver {
  /** A chunk arrived; the result is called on its delivery. */
  arrived(nowMs: number): ((spentMs: number, nowMs: number) => void) | null;
  retransmitted(count: number, nowMs: number): void;
}

/** One direction of a TCP connection: data, then end or reset, delayed in order. */
export class DelayedStream {
  readonly #context: RelayContext;
  readonly #path: Path;
  readonly #from: Socket;
  readonly #observer: StreamObserver;
  /** Nothing counts as sent earlier, because of the handshake. */
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

  attach(to: Socket): void {
    this.#to = to;
    to.on("drain", () => {
      this.#waitsForDrain = false;
      this.#pump();
    });
    to.once("close", () => this.abandon());
    this.#pump();
  }

  /** Without a receiver, data is read and discarded, so that the sender's end is still seen. */
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

  /** Retransmits what was in flight when the path stalled: arrives one delay after healing. */
  #resumeAt(healedMs: number): void {
    this.#stopWaiting = null;
    const dueMs = healedMs + this.#path.delayMs;
    for (const item of this.#items) item.dueMs = Math.max(item.dueMs, dueMs);
    this.#lastDueMs = Math.max(this.#lastDueMs, dueMs);
    this.#context.queue.add(dueMs, () => this.#pump());
  }
}

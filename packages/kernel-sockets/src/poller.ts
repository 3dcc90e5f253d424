import type { Block, Libc } from "./libc.ts";
import { SYS } from "./sys.ts";

const ENTRY_BYTES = 8;

/** Hears what poll(2) said of a descriptor: `events` are POLLIN, POLLOUT, POLLERR, POLLHUP. */
type ReadyHandler = (events: number) => void;

interface Watched {
  readonly fd: number;
  interest: number;
  readonly handle: ReadyHandler;
}

/** A wait that ends so soon is a short one. Milliseconds. */
const SHORT_WAIT_MS = 0.2;
/** After so many short waits in a row the next one is expected to be short too. */
const SHORT_WAITS = 32;
/**
 * How many it takes after a wait in which another thread had the processor for longer: sleepers are served
 * before those who yield.
 */
const SHORT_WAITS_CONTENDED = 1000;
/** Every so many waits all sockets are asked. */
const TURN = 16;
/** Attempts at the expected socket between two looks at all of them. */
const ATTEMPTS = 4;
/** How long a wait that is expected to be short goes without sleep. Milliseconds. */
const SPIN_MS = 0.1;

interface PollerOptions {
  /**
   * Spares the sleep while packets follow each other within microseconds: putting a processor to sleep and
   * waking it again costs several times what a packet does. Bounded to a tenth of a millisecond each, and
   * never at ordinary rates: one longer wait ends it.
   * @default false
   */
  readonly spin?: boolean;
}

/** Waits for many descriptors at once, in the thread that calls `wait`. */
export class Poller {
  readonly #libc: Libc;
  readonly #spin: boolean;
  #shortWaits = 0;
  #attempt: (() => boolean) | null = null;
  readonly #timeout: Block;
  readonly #watched = new Map<number, Watched>();
  #descriptors: Block;
  #order: Watched[] = [];
  #dirty = false;

  constructor(libc: Libc, { spin = false }: PollerOptions = {}) {
    this.#libc = libc;
    this.#spin = spin;
    this.#timeout = libc.block(16);
    this.#descriptors = libc.block(16 * ENTRY_BYTES);
  }

  get size(): number {
    return this.#watched.size;
  }

  /** Whether the next wait will begin without sleep. */
  get awake(): boolean {
    return this.#shortWaits >= SHORT_WAITS;
  }

  /** `interest`: POLLIN, POLLOUT or both; errors are always reported. */
  add(fd: number, interest: number, handle: ReadyHandler): void {
    this.#watched.set(fd, { fd, interest, handle });
    this.#dirty = true;
  }

  /**
   * What to try first while a wait goes without sleep: to read from where the next packet will come, without
   * asking of all the others. True: something came and was handled. Replaces the attempt before; only with
   * `spin`.
   */
  expect(attempt: (() => boolean) | null): void {
    this.#attempt = attempt;
  }

  change(fd: number, interest: number): void {
    const watched = this.#watched.get(fd);
    if (watched === undefined || watched.interest === interest) return;
    watched.interest = interest;
    this.#dirty = true;
  }

  /** Must come before the descriptor is closed. */
  remove(fd: number): void {
    this.#dirty = this.#watched.delete(fd) || this.#dirty;
  }

  /**
   * Blocks the thread until a descriptor is ready, at most so long, then calls the handlers. Returns how many
   * were ready. `onWake` comes right after the blocking, before any handler.
   */
  wait(timeoutMs: number, onWake?: () => void): number {
    if (!this.#spin) return this.#serve(this.#poll(timeoutMs), onWake);
    // Now and then all are asked: who is expected mustn't keep the others from their turn.
    const awake = this.awake && this.#shortWaits % TURN !== 0;
    const startMs = performance.now();
    if (awake) {
      const served = this.#waitAwake(startMs, timeoutMs, onWake);
      if (performance.now() - startMs > SHORT_WAIT_MS) this.#shortWaits = SHORT_WAITS - SHORT_WAITS_CONTENDED;
      else if (served > 0) this.#shortWaits++;
      if (served > 0) return served;
    }
    const ready = this.#poll(timeoutMs);
    const short = ready > 0 && performance.now() - startMs < SHORT_WAIT_MS;
    this.#shortWaits = short ? this.#shortWaits + 1 : Math.min(0, this.#shortWaits);
    return this.#serve(ready, onWake);
  }

  close(): void {
    this.#watched.clear();
    this.#order = [];
    this.#libc.free(this.#timeout);
    this.#libc.free(this.#descriptors);
  }

  /** Returns how many were ready; 0: nothing came in the time that is worth it. */
  #waitAwake(startMs: number, timeoutMs: number, onWake: (() => void) | undefined): number {
    const endMs = startMs + Math.min(timeoutMs, SPIN_MS);
    for (let round = 0; ; round++) {
      if (this.#attempt !== null && this.#attempt()) return 1;
      const ready = this.#attempt === null || round % ATTEMPTS === ATTEMPTS - 1 ? this.#poll(0) : 0;
      if (ready > 0) return this.#serve(ready, onWake);
      if (performance.now() >= endMs) return 0;
      // Who sends what is waited for may need this very processor.
      this.#libc.yieldProcessor();
    }
  }

  /** Calls the handlers of what is ready. */
  #serve(ready: number, onWake: (() => void) | undefined): number {
    onWake?.();
    if (ready <= 0) return 0;
    const order = this.#order;
    for (let i = 0, left = ready; i < order.length && left > 0; i++) {
      const events = this.#descriptors.view.getInt16(i * ENTRY_BYTES + 6, true);
      if (events === 0) continue;
      left--;
      const watched = order[i]!;
      // A handler before may have removed this one, or its number may belong to another socket by now.
      if (this.#watched.get(watched.fd) === watched) watched.handle(events);
    }
    return ready;
  }

  #poll(timeoutMs: number): number {
    if (this.#dirty) this.#rebuild();
    const ns = Math.max(0, Math.round(timeoutMs * 1e6));
    const { view } = this.#timeout;
    view.setUint32(0, Math.floor(ns / 1e9), true);
    view.setUint32(8, ns % 1e9, true);
    return this.#libc.poll(this.#descriptors, this.#order.length, this.#timeout);
  }

  #rebuild(): void {
    this.#dirty = false;
    this.#order = [...this.#watched.values()];
    const needed = this.#order.length * ENTRY_BYTES;
    if (needed > this.#descriptors.view.byteLength) {
      this.#libc.free(this.#descriptors);
      this.#descriptors = this.#libc.block(2 * needed);
    }
    for (const [i, { fd, interest }] of this.#order.entries()) {
      this.#descriptors.view.setInt32(i * ENTRY_BYTES, fd, true);
      this.#descriptors.view.setInt16(i * ENTRY_BYTES + 4, interest, true);
      this.#descriptors.view.setInt16(i * ENTRY_BYTES + 6, 0, true);
    }
  }
}

/** Every event that says something can be read, an error or an end included. */
export const READABLE = SYS.POLLIN | SYS.POLLERR | SYS.POLLHUP;

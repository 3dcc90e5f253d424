import type { Block, Libc } from "./libc.ts";
import { SystemCallError } from "./socket.ts";
import { SYS } from "./sys.ts";

/** struct pollfd. */
const ENTRY_BYTES = 8;
/**
 * struct epoll_event, which one architecture packs: events (4), then what was given with the descriptor (8).
 */
const EVENT = process.arch === "x64" ? { bytes: 12, dataAt: 4 } : { bytes: 16, dataAt: 8 };
/** Descriptors that one wait tells of; the others' turn is the next. */
const EVENTS = 64;

/** Hears what the kernel said of a descriptor: `events` are POLLIN, POLLOUT, POLLERR, POLLHUP. */
type ReadyHandler = (events: number) => void;

interface Watched {
  readonly fd: number;
  /** Of its adding: handlers run in this order. */
  readonly order: number;
  interest: number;
  readonly handle: ReadyHandler;
}

interface Ready {
  readonly watched: Watched;
  readonly events: number;
}

/** The global itself is looked up by a getter, each time. */
const clock = performance;

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
  /** One descriptor for all, so that a wait costs the same whatever their number; -1: there was none yet. */
  #watcher = -1;
  readonly #entry: Block;
  readonly #events: Block;
  #added = 0;

  constructor(libc: Libc, { spin = false }: PollerOptions = {}) {
    this.#libc = libc;
    this.#spin = spin;
    this.#timeout = libc.block(16);
    this.#entry = libc.block(Math.max(ENTRY_BYTES, EVENT.bytes));
    this.#events = libc.block(EVENTS * EVENT.bytes);
  }

  get size(): number {
    return this.#watched.size;
  }

  /** Whether the next wait will begin without sleep. */
  get awake(): boolean {
    return this.#shortWaits >= SHORT_WAITS;
  }

  /** `interest`: POLLIN, POLLOUT or both; errors are always reported. @throws SystemCallError */
  add(fd: number, interest: number, handle: ReadyHandler): void {
    if (this.#watcher < 0) this.#watcher = this.#libc.watcher();
    const isKnown = this.#watched.has(fd);
    this.#watched.set(fd, { fd, order: this.#added++, interest, handle });
    if (this.#control(isKnown ? SYS.EPOLL_CTL_MOD : SYS.EPOLL_CTL_ADD, fd, interest) >= 0) return;
    this.#watched.delete(fd);
    throw new SystemCallError("epoll_ctl", this.#libc.lastError());
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
    this.#control(SYS.EPOLL_CTL_MOD, fd, interest);
  }

  /** Must come before the descriptor is closed. */
  remove(fd: number): void {
    if (this.#watched.delete(fd)) this.#control(SYS.EPOLL_CTL_DEL, fd, 0);
  }

  /**
   * Blocks the thread until a descriptor is ready, at most so long, then calls the handlers. Returns how many
   * were ready. `onWake` comes right after the blocking, before any handler.
   */
  wait(timeoutMs: number, onWake?: () => void): number {
    if (!this.#spin) return this.#serve(this.#poll(timeoutMs), onWake);
    // Now and then all are asked: who is expected mustn't keep the others from their turn.
    const awake = this.awake && this.#shortWaits % TURN !== 0;
    const startMs = clock.now();
    if (awake) {
      const served = this.#waitAwake(startMs, timeoutMs, onWake);
      if (clock.now() - startMs > SHORT_WAIT_MS) this.#shortWaits = SHORT_WAITS - SHORT_WAITS_CONTENDED;
      else if (served > 0) this.#shortWaits++;
      if (served > 0) return served;
    }
    const ready = this.#poll(timeoutMs);
    const short = ready > 0 && clock.now() - startMs < SHORT_WAIT_MS;
    this.#shortWaits = short ? this.#shortWaits + 1 : Math.min(0, this.#shortWaits);
    return this.#serve(ready, onWake);
  }

  close(): void {
    this.#watched.clear();
    if (this.#watcher >= 0) this.#libc.close(this.#watcher);
    this.#watcher = -1;
    for (const block of [this.#timeout, this.#entry, this.#events]) this.#libc.free(block);
  }

  /** Returns how many were ready; 0: nothing came in the time that is worth it. */
  #waitAwake(startMs: number, timeoutMs: number, onWake: (() => void) | undefined): number {
    const endMs = startMs + Math.min(timeoutMs, SPIN_MS);
    for (let round = 0; ; round++) {
      if (this.#attempt !== null && this.#attempt()) return 1;
      const ready = this.#attempt === null || round % ATTEMPTS === ATTEMPTS - 1 ? this.#poll(0) : 0;
      if (ready > 0) return this.#serve(ready, onWake);
      if (clock.now() >= endMs) return 0;
      // Who sends what is waited for may need this very processor.
      this.#libc.yieldProcessor();
    }
  }

  /** Calls the handlers of what is ready. */
  #serve(ready: number, onWake: (() => void) | undefined): number {
    onWake?.();
    if (ready <= 0) return 0;
    if (ready === 1) {
      const { view } = this.#events;
      this.#watched.get(view.getInt32(EVENT.dataAt, true))?.handle(view.getUint32(0, true));
      return ready;
    }
    for (const { watched, events } of this.#readyNow(ready)) {
      // A handler before may have removed this one, or its number may belong to another socket by now.
      if (this.#watched.get(watched.fd) === watched) watched.handle(events);
    }
    return ready;
  }

  #readyNow(count: number): readonly Ready[] {
    const { view } = this.#events;
    const ready: Ready[] = [];
    for (let at = 0; at < count * EVENT.bytes; at += EVENT.bytes) {
      const watched = this.#watched.get(view.getInt32(at + EVENT.dataAt, true));
      if (watched !== undefined) ready.push({ watched, events: view.getUint32(at, true) });
    }
    return ready.sort((a, b) => a.watched.order - b.watched.order);
  }

  /** How many are ready. */
  #poll(timeoutMs: number): number {
    if (timeoutMs > 0) {
      const ns = Math.round(timeoutMs * 1e6);
      const { view } = this.#timeout;
      view.setUint32(0, Math.floor(ns / 1e9), true);
      view.setUint32(8, ns % 1e9, true);
      const isWatching = this.#watcher >= 0;
      this.#entry.view.setInt32(0, this.#watcher, true);
      this.#entry.view.setInt16(4, SYS.POLLIN, true);
      // Its timeout is finer than epoll_wait's.
      const ready = this.#libc.poll(this.#entry, isWatching ? 1 : 0, this.#timeout);
      if (ready <= 0) return ready;
    }
    return this.#watcher < 0 ? 0 : this.#libc.watched(this.#watcher, this.#events, EVENTS);
  }

  #control(operation: number, fd: number, interest: number): number {
    const { view } = this.#entry;
    view.setUint32(0, interest, true);
    view.setInt32(EVENT.dataAt, fd, true);
    return this.#libc.watch(this.#watcher, operation, fd, this.#entry);
  }
}

/** Every event that says something can be read, an error or an end included. */
export const READABLE = SYS.POLLIN | SYS.POLLERR | SYS.POLLHUP;

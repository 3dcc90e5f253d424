import type { Block, Libc } from "./libc.ts";
import { SystemCallError } from "./socket.ts";
import { SYS } from "./sys.ts";

const ENTRY_BYTES = 8;
/** struct epoll_event, packed on x64: events (4), user data (8). */
const EVENT = process.arch === "x64" ? { bytes: 12, dataAt: 4 } : { bytes: 16, dataAt: 8 };
const EVENTS = 64;

type ReadyHandler = (events: number) => void;

interface Watched {
  readonly fd: number;
  /** Insertion order: handlers run in this order. */
  readonly order: number;
  interest: number;
  readonly handle: ReadyHandler;
}

interface Ready {
  readonly watched: Watched;
  readonly events: number;
}

const clock = performance;

const SHORT_WAIT_MS = 0.2;
/** After this many short waits in a row, the next one is expected to be short. */
const SHORT_WAITS = 32;
/**
 * The same after another thread used the processor for longer: sleepers are scheduled before yielding
 * threads.
 */
const SHORT_WAITS_CONTENDED = 1000;
const TURN = 16;
const ATTEMPTS = 4;
const SPIN_MS = 0.1;

interface PollerOptions {
  /**
   * Spins instead of sleeping while packets arrive within microseconds: sleep and wake-up cost several
   * packets' work. At most a tenth of a millisecond each; one longer wait ends it, so ordinary rates never
   * spin.
   * @default false
   */
  readonly spin?: boolean;
}

export class Poller {
  readonly #libc: Libc;
  readonly #spin: boolean;
  #shortWaits = 0;
  #attempt: (() => boolean) | null = null;
  readonly #timeout: Block;
  readonly #watched = new Map<number, Watched>();
  /** epoll descriptor, so that a wait costs the same for any number of sockets; -1: none yet. */
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

  get awake(): boolean {
    return this.#shortWaits >= SHORT_WAITS;
  }

  /** @param interest POLLIN, POLLOUT or both; errors are always reported @throws SystemCallError */
  add(fd: number, interest: number, handle: ReadyHandler): void {
    if (this.#watcher < 0) this.#watcher = this.#libc.watcher();
    const isKnown = this.#watched.has(fd);
    this.#watched.set(fd, { fd, order: this.#added++, interest, handle });
    if (this.#control(isKnown ? SYS.EPOLL_CTL_MOD : SYS.EPOLL_CTL_ADD, fd, interest) >= 0) return;
    this.#watched.delete(fd);
    throw new SystemCallError("epoll_ctl", this.#libc.lastError());
  }

  /**
   * Sets the first read to try while spinning, at the socket expected next; true: it handled something.
   * Replaces the previous one; only with `spin`.
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

  remove(fd: number): void {
    if (this.#watched.delete(fd)) this.#control(SYS.EPOLL_CTL_DEL, fd, 0);
  }

  /**
   * Blocks until a descriptor is ready or the timeout, then calls the handlers. Returns the number of ready
   * ones. `onWake` is called right after blocking, before any handler.
   */
  wait(timeoutMs: number, onWake?: () => void): number {
    if (!this.#spin) return this.#serve(this.#poll(timeoutMs), onWake);
    // Polls all periodically, so that the expected socket cannot starve the others.
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

  #waitAwake(startMs: number, timeoutMs: number, onWake: (() => void) | undefined): number {
    const endMs = startMs + Math.min(timeoutMs, SPIN_MS);
    for (let round = 0; ; round++) {
      if (this.#attempt !== null && this.#attempt()) return 1;
      const ready = this.#attempt === null || round % ATTEMPTS === ATTEMPTS - 1 ? this.#poll(0) : 0;
      if (ready > 0) return this.#serve(ready, onWake);
      if (clock.now() >= endMs) return 0;
      // The awaited sender may need this processor.
      this.#libc.yieldProcessor();
    }
  }

  #serve(ready: number, onWake: (() => void) | undefined): number {
    onWake?.();
    if (ready <= 0) return 0;
    if (ready === 1) {
      const { view } = this.#events;
      this.#watched.get(view.getInt32(EVENT.dataAt, true))?.handle(view.getUint32(0, true));
      return ready;
    }
    for (const { watched, events } of this.#readyNow(ready)) {
      // An earlier handler may have removed this one, or its number may be another socket's.
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

  #poll(timeoutMs: number): number {
    if (timeoutMs > 0) {
      const ns = Math.round(timeoutMs * 1e6);
      const { view } = this.#timeout;
      view.setUint32(0, Math.floor(ns / 1e9), true);
      view.setUint32(8, ns % 1e9, true);
      const isWatching = this.#watcher >= 0;
      this.#entry.view.setInt32(0, this.#watcher, true);
      this.#entry.view.setInt16(4, SYS.POLLIN, true);
      // ppoll has a finer timeout than epoll_wait.
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

/** Events that make a read worthwhile, including errors and end of stream. */
export const READABLE = SYS.POLLIN | SYS.POLLERR | SYS.POLLHUP;

import type { Libc } from "./libc.ts";

const BYTES = 8192;

/**
 * Records a thread's open libc descriptors in shared memory. Descriptors belong to the process: a dead
 * worker's stay open, with bound ports, until its starter closes them.
 */
export class DescriptorLedger {
  readonly buffer: SharedArrayBuffer;
  readonly #bits: Uint8Array;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(BYTES)) {
    this.buffer = buffer;
    this.#bits = new Uint8Array(buffer);
  }

  opened(fd: number): void {
    if (fd >= 0 && fd >> 3 < BYTES) Atomics.or(this.#bits, fd >> 3, 1 << (fd & 7));
  }

  closed(fd: number): void {
    if (fd >= 0 && fd >> 3 < BYTES) Atomics.and(this.#bits, fd >> 3, ~(1 << (fd & 7)));
  }

  /**
   * Empties the ledger and returns the open descriptors, for the caller to close. Only after the other thread
   * has ended.
   */
  takeOpen(): number[] {
    const open: number[] = [];
    for (const [at, bits] of this.#bits.entries()) {
      for (let bit = 0; bit < 8; bit++) if ((bits & (1 << bit)) !== 0) open.push(at * 8 + bit);
    }
    this.#bits.fill(0);
    return open;
  }
}

/** Wraps libc so that the ledger records opens and closes. */
export function trackDescriptors(libc: Libc, ledger: DescriptorLedger): Libc {
  const noted = (fd: number): number => {
    ledger.opened(fd);
    return fd;
  };
  return {
    ...libc,
    socket: (...args) => noted(libc.socket(...args)),
    accept: (...args) => noted(libc.accept(...args)),
    open: (...args) => noted(libc.open(...args)),
    eventCounter: () => noted(libc.eventCounter()),
    watcher: () => noted(libc.watcher()),
    close(fd) {
      ledger.closed(fd);
      libc.close(fd);
    },
  };
}

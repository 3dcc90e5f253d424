import type { Libc } from "./libc.ts";

/** Bytes of the bitmap: descriptors up to 65535. */
const BYTES = 8192;

/**
 * Which descriptors a thread has opened through libc, in memory that another thread sees. Descriptors belong
 * to the process: a worker thread that dies leaves its own open, ports bound, until whoever started it closes
 * them.
 */
export class DescriptorLedger {
  readonly buffer: SharedArrayBuffer;
  readonly #bits: Uint8Array;

  /** `buffer`: of the ledger in the other thread; a new one without. */
  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(BYTES)) {
    this.buffer = buffer;
    this.#bits = new Uint8Array(buffer);
  }

  /** Descriptors beyond the ledger's size aren't kept. */
  opened(fd: number): void {
    if (fd >= 0 && fd >> 3 < BYTES) Atomics.or(this.#bits, fd >> 3, 1 << (fd & 7));
  }

  closed(fd: number): void {
    if (fd >= 0 && fd >> 3 < BYTES) Atomics.and(this.#bits, fd >> 3, ~(1 << (fd & 7)));
  }

  /** Empties the ledger: what was open, for the caller to close. Only when the other thread has ended. */
  takeOpen(): number[] {
    const open: number[] = [];
    for (const [at, bits] of this.#bits.entries()) {
      for (let bit = 0; bit < 8; bit++) if ((bits & (1 << bit)) !== 0) open.push(at * 8 + bit);
    }
    this.#bits.fill(0);
    return open;
  }
}

/** The same libc, which writes down what it opens and closes. */
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
      // Before: afterwards the number may be another thread's.
      ledger.closed(fd);
      libc.close(fd);
    },
  };
}

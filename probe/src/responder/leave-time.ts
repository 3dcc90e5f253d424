import { ReceiveBatch, SYS, type KernelSocket, type Libc } from "@isochrone/kernel-sockets";
import { LeastTime } from "../domain/least-time.ts";

/**
 * Calls between a renewal and the one that is looked at: the first one finds the processor's caches cold, as
 * few others do.
 */
const CALLS_BEFORE = 8;
/** Stamps read at once; they come without data. */
const STAMPS = 32;
const STAMP_BYTES = 64;
/** What takes longer is a queue of the network's, or a step of the clock. Nanoseconds. */
const MAX_NS = 1e6;

/**
 * How long after the beginning of a send call a packet leaves, by the kernel's own stamp of a call now and
 * then. The call's length says little: it goes on for several times as long, with what the packet sets off on
 * the same host.
 */
export class LeaveTime {
  readonly #libc: Libc;
  readonly #stamps: ReceiveBatch;
  readonly #typical = new LeastTime();
  #due = true;
  #callsBefore = 0;

  constructor(libc: Libc) {
    this.#libc = libc;
    this.#stamps = new ReceiveBatch(libc, STAMPS, STAMP_BYTES);
  }

  /** Milliseconds; 0 while nothing is known. */
  get ms(): number {
    return this.#typical.ms;
  }

  /** Has one of the next calls looked at. */
  renew(): void {
    this.#due = true;
  }

  /** Runs `send`, which sends through the socket. */
  around(socket: KernelSocket, send: () => void): void {
    if (!this.#due || this.#callsBefore-- > 0) {
      send();
      return;
    }
    this.#due = false;
    this.#callsBefore = CALLS_BEFORE;
    socket.enableTimestamps({ sends: true });
    const beganNs = this.#libc.clock(SYS.CLOCK_REALTIME);
    send();
    if (this.#stamps.receive(socket.fd, SYS.MSG_ERRQUEUE) > 0) {
      const leftNs = this.#stamps.info(0).kernelTime - beganNs;
      if (leftNs >= 0 && leftNs < MAX_NS) this.#typical.add(leftNs / 1e6);
    }
    socket.enableTimestamps({ sends: false });
  }

  /** Takes stamps that came after all: left alone they would be reported as an error without end. */
  discardLate(fd: number): void {
    while (this.#stamps.receive(fd, SYS.MSG_ERRQUEUE) > 0);
  }

  free(): void {
    this.#stamps.free();
  }
}

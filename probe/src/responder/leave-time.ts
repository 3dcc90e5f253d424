import { ReceiveBatch, SYS, type KernelSocket, type Libc } from "@isochrone/kernel-sockets";
import { LeastTime } from "../domain/least-time.ts";

/** Calls skipped before the measured one: the first call runs with cold caches. */
const CALLS_BEFORE = 8;
const STAMPS = 32;
const STAMP_BYTES = 64;
const MAX_NS = 1e6;

/**
 * Time from the start of a send call until a packet leaves, sampled by kernel stamps. The call's duration is
 * several times longer, because the packet triggers work on the same host.
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

  get ms(): number {
    return this.#typical.ms;
  }

  renew(): void {
    this.#due = true;
  }

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

  /** Reads late stamps: unread ones are reported as errors endlessly. */
  discardLate(fd: number): void {
    while (this.#stamps.receive(fd, SYS.MSG_ERRQUEUE) > 0);
  }

  free(): void {
    this.#stamps.free();
  }
}

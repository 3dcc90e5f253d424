import type { Libc, Poller, ReceiveBatch } from "@isochrone/kernel-sockets";

export interface KernelSocketsDeps {
  readonly libc: Libc;
  readonly poller: Poller;
  /** Milliseconds, sub-microsecond grain, never backwards. */
  readonly monotonic: () => number;
  /** Runs when the caller is done, before anything that is due. */
  soon(run: () => void): void;
}

/** What the sockets of one thread share: only one of them is served at a time. */
export interface KernelSurroundings extends KernelSocketsDeps {
  readonly datagrams: ReceiveBatch;
  readonly chunks: ReceiveBatch;
  /** For error queues, from which only stamps are of interest. */
  readonly stamps: ReceiveBatch;
}

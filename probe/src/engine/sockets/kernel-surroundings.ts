import type { Libc, Poller, ReceiveBatch } from "@isochrone/kernel-sockets";

export interface KernelSocketsDeps {
  readonly libc: Libc;
  readonly poller: Poller;
  /** Milliseconds, sub-microsecond resolution, monotonic. */
  readonly monotonic: () => number;
  /** Runs `run` when the caller is done, before due tasks. */
  soon(run: () => void): void;
}

/** Shared by the sockets of one thread; only one is served at a time. */
export interface KernelSurroundings extends KernelSocketsDeps {
  readonly datagrams: ReceiveBatch;
  readonly chunks: ReceiveBatch;
  /** For error queues, from which only stamps are used. */
  readonly stamps: ReceiveBatch;
}

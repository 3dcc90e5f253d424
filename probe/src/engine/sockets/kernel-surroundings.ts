import type { Libc, Poller, ReceiveBatch } from "@isochrone/kernel-sockets";

export interface KernelSocketsDeps {
  readonly libc: Libc;
  readonly poller: Poller;
  readonly monotonic: () => number;
  soon(run: () => void): void;
}

/** Shared by the sockets of one thread; only one is served at a time. */
export interface KernelSurroundings extends KernelSocketsDeps {
  readonly datagrams: ReceiveBatch;
  readonly chunks: ReceiveBatch;
  readonly stamps: ReceiveBatch;
}

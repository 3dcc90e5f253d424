import { DescriptorLedger } from "@isochrone/kernel-sockets";

/** Memory that a worker thread and who started it both see. */
export interface SharedMemory {
  /** Of a DescriptorLedger. */
  readonly descriptors: SharedArrayBuffer;
  /** One number of 4 bytes: the descriptor that wakes the worker; 0 = none. */
  readonly wake: SharedArrayBuffer;
}

/**
 * What a worker tells without a message: descriptors to close after it, and how to end its wait in the
 * kernel.
 */
export class WorkerShare {
  readonly memory: SharedMemory;
  readonly descriptors: DescriptorLedger;
  readonly #wake: Int32Array;

  /** Without memory: of its own, in the thread that starts the worker. */
  constructor(memory: SharedMemory | null = null) {
    this.descriptors = new DescriptorLedger(memory?.descriptors);
    this.memory = memory ?? { descriptors: this.descriptors.buffer, wake: new SharedArrayBuffer(4) };
    this.#wake = new Int32Array(this.memory.wake);
  }

  /** Descriptor to write 8 bytes to, or null. */
  get wakeFd(): number | null {
    const fd = Atomics.load(this.#wake, 0);
    return fd === 0 ? null : fd;
  }

  /** Must stay open until the worker has ended, or somebody else's file may be written to. */
  announceWake(fd: number): void {
    Atomics.store(this.#wake, 0, fd);
  }
}

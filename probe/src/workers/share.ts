import { DescriptorLedger } from "@isochrone/kernel-sockets";

export interface SharedMemory {
  /** Memory of a DescriptorLedger. */
  readonly descriptors: SharedArrayBuffer;
  /** One Int32: the descriptor that wakes the worker; 0 = none. */
  readonly wake: SharedArrayBuffer;
}

/** State that a worker shares without messages: descriptors to close after its end, and how to wake it. */
export class WorkerShare {
  readonly memory: SharedMemory;
  readonly descriptors: DescriptorLedger;
  readonly #wake: Int32Array;

  constructor(memory: SharedMemory | null = null) {
    this.descriptors = new DescriptorLedger(memory?.descriptors);
    this.memory = memory ?? { descriptors: this.descriptors.buffer, wake: new SharedArrayBuffer(4) };
    this.#wake = new Int32Array(this.memory.wake);
  }

  get wakeFd(): number | null {
    const fd = Atomics.load(this.#wake, 0);
    return fd === 0 ? null : fd;
  }

  /** Must stay open until the worker has ended, or a write may hit another file. */
  announceWake(fd: number): void {
    Atomics.store(this.#wake, 0, fd);
  }
}

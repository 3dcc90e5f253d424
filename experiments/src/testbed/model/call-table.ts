const FREE = -1;
export const NONE = -1;

/**
 * Calls that are not answered yet, users' requests among them, as columns of numbers: nothing is allocated
 * for a call.
 */
export class CallTable {
  /** The pod that has to answer; -1 for a free row. */
  pod = new Int32Array(0);
  /** The call on whose behalf it is made; -1: a user's request. */
  parent = new Int32Array(0);
  /** The edge of the workflow that it is made over; of a user's request its number. */
  origin = new Int32Array(0);
  /** Answers that it waits for. */
  waitsFor = new Int32Array(0);
  failed = new Uint8Array(0);
  sentMs = new Float64Array(0);
  /** The one behind it in a pod's queue, or in the list of free rows. */
  next = new Int32Array(0);
  #firstFree = NONE;

  constructor(capacity = 1024) {
    this.#grow(capacity);
  }

  open(pod: number, parent: number, origin: number, sentMs: number): number {
    if (this.#firstFree === NONE) this.#grow(this.pod.length * 2);
    const call = this.#firstFree;
    this.#firstFree = this.next[call]!;
    this.pod[call] = pod;
    this.parent[call] = parent;
    this.origin[call] = origin;
    this.waitsFor[call] = 0;
    this.failed[call] = 0;
    this.sentMs[call] = sentMs;
    return call;
  }

  close(call: number): void {
    this.pod[call] = FREE;
    this.next[call] = this.#firstFree;
    this.#firstFree = call;
  }

  /** Number of open calls; counts them. */
  countOpen(): number {
    let open = 0;
    for (const pod of this.pod) if (pod !== FREE) open++;
    return open;
  }

  #grow(capacity: number): void {
    const from = this.pod.length;
    const wider = <T extends Int32Array | Float64Array | Uint8Array>(column: T, next: T): T => {
      next.set(column);
      return next;
    };
    this.pod = wider(this.pod, new Int32Array(capacity).fill(FREE));
    this.parent = wider(this.parent, new Int32Array(capacity));
    this.origin = wider(this.origin, new Int32Array(capacity));
    this.waitsFor = wider(this.waitsFor, new Int32Array(capacity));
    this.failed = wider(this.failed, new Uint8Array(capacity));
    this.sentMs = wider(this.sentMs, new Float64Array(capacity));
    this.next = wider(this.next, new Int32Array(capacity));
    for (let call = capacity - 1; call >= from; call--) {
      this.next[call] = this.#firstFree;
      this.#firstFree = call;
    }
  }
}

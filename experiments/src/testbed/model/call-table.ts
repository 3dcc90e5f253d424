const FREE = -1;
export const NONE = -1;

/** Open calls, user requests included, in columns of typed arrays. Calls allocate nothing. */
export class CallTable {
  /** The answering pod; -1: free row. */
  pod = new Int32Array(0);
  /** The parent call; -1: a user request. */
  parent = new Int32Array(0);
  /** The workflow edge; for user requests their number. */
  origin = new Int32Array(0);
  /** Number of pending answers. */
  waitsFor = new Int32Array(0);
  failed = new Uint8Array(0);
  sentMs = new Float64Array(0);
  /** Next call in a pod's queue, or next free row. */
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

/** Messages under way, by the time at which they arrive. A heap of four children a node: half as deep as a binary one, and the children share a cache line. */
export class MessageHeap {
  #times: Float64Array;
  #messages: Int32Array;
  #size = 0;
  /** Arrival of the first; Infinity without any. */
  nextMs = Infinity;

  constructor(capacity = 1024) {
    this.#times = new Float64Array(capacity);
    this.#messages = new Int32Array(capacity);
  }

  get size(): number {
    return this.#size;
  }

  push(timeMs: number, message: number): void {
    if (this.#size === this.#times.length) this.#grow();
    const times = this.#times;
    const messages = this.#messages;
    let at = this.#size++;
    while (at > 0) {
      const parent = (at - 1) >> 2;
      if (times[parent]! <= timeMs) break;
      times[at] = times[parent]!;
      messages[at] = messages[parent]!;
      at = parent;
    }
    times[at] = timeMs;
    messages[at] = message;
    this.nextMs = times[0]!;
  }

  /** Takes the first message out; there must be one. */
  pop(): number {
    const times = this.#times;
    const messages = this.#messages;
    const first = messages[0]!;
    const size = --this.#size;
    if (size === 0) {
      this.nextMs = Infinity;
      return first;
    }
    const time = times[size]!;
    const message = messages[size]!;
    let at = 0;
    for (;;) {
      const from = 4 * at + 1;
      if (from >= size) break;
      const to = Math.min(from + 4, size);
      let least = from;
      for (let child = from + 1; child < to; child++) if (times[child]! < times[least]!) least = child;
      if (times[least]! >= time) break;
      times[at] = times[least]!;
      messages[at] = messages[least]!;
      at = least;
    }
    times[at] = time;
    messages[at] = message;
    this.nextMs = times[0]!;
    return first;
  }

  #grow(): void {
    const times = new Float64Array(this.#times.length * 2);
    const messages = new Int32Array(this.#times.length * 2);
    times.set(this.#times);
    messages.set(this.#messages);
    this.#times = times;
    this.#messages = messages;
  }
}

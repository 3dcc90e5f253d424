import { threadMs } from "./streams/problems.ts";

/** CPU time between two turns of the event loop. */
export class Turns {
  #last = threadMs();
  #longest = 0;
  #isOver = false;

  constructor() {
    this.#next();
  }

  /** The longest so far, ms. */
  stop(): number {
    this.#isOver = true;
    return this.#longest;
  }

  #next(): void {
    setImmediate(() => {
      const now = threadMs();
      this.#longest = Math.max(this.#longest, now - this.#last);
      this.#last = now;
      if (!this.#isOver) this.#next();
    });
  }
}

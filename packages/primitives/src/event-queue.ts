import { MinHeap } from "./heap.ts";

interface Event {
  /** Null: taken back. */
  act: (() => void) | null;
}

/**
 * Simulated time that jumps from event to event: in the order of their moments, and of adding where moments
 * are equal. The unit is the caller's.
 */
export class EventQueue {
  readonly #events = new MinHeap<Event>();
  #now = 0;
  #size = 0;

  get now(): number {
    return this.#now;
  }

  /** Events that have neither happened nor been taken back. */
  get size(): number {
    return this.#size;
  }

  /** The moment of the first event; Infinity without one. */
  get nextAt(): number {
    while (this.#events.nextItem?.act === null) this.#events.pop();
    return this.#events.nextKey;
  }

  /** Returns a function that takes the event back. */
  at(moment: number, act: () => void): () => void {
    const event: Event = { act };
    this.#events.push(moment, event);
    this.#size++;
    return () => {
      if (event.act !== null) this.#size--;
      event.act = null;
    };
  }

  /** Lets the first event happen, if there is one. */
  step(): void {
    const moment = this.nextAt;
    const event = this.#events.pop();
    if (event === undefined) return;
    const { act } = event;
    event.act = null;
    this.#size--;
    this.#now = Math.max(this.#now, moment);
    act?.();
  }

  /** Lets all events until then happen, and those that they add. Then it is that moment. */
  runUntil(moment: number): void {
    while (this.nextAt <= moment) this.step();
    this.#now = Math.max(this.#now, moment);
  }
}

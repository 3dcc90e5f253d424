import { MinHeap } from "./heap.ts";

interface Event {
  /** Null: cancelled. */
  act: (() => void) | null;
}

/** Simulated time that jumps from event to event, in time order and stable for equal times. Any unit. */
export class EventQueue {
  readonly #events = new MinHeap<Event>();
  #now = 0;
  #size = 0;

  get now(): number {
    return this.#now;
  }

  /** Number of pending events. */
  get size(): number {
    return this.#size;
  }

  /** Time of the first event; Infinity if none. */
  get nextAt(): number {
    while (this.#events.nextItem?.act === null) this.#events.pop();
    return this.#events.nextKey;
  }

  /** Returns a function that cancels the event. */
  at(moment: number, act: () => void): () => void {
    const event: Event = { act };
    this.#events.push(moment, event);
    this.#size++;
    return () => {
      if (event.act !== null) this.#size--;
      event.act = null;
    };
  }

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

  /** Runs all events until then, including those they add, and advances the time. */
  runUntil(moment: number): void {
    while (this.nextAt <= moment) this.step();
    this.#now = Math.max(this.#now, moment);
  }
}

import type { DelayQueue } from "./delay-queue.ts";

export interface RelayContext {
  /** The relay's clock, ms. */
  monotonic(): number;
  readonly queue: DelayQueue;
  /** Reports a fault to a person, once. */
  fault(event: string, message: string): void;
}

export interface Listener {
  readonly port: number;
  close(): void;
}

import type { DelayQueue } from "./delay-queue.ts";

/** What every part of the relay needs. */
export interface RelayContext {
  /** The relay's clock, ms. */
  monotonic(): number;
  readonly queue: DelayQueue;
  /** Something that a person should see once. */
  fault(event: string, message: string): void;
}

/** An open listener of the relay. */
export interface Listener {
  readonly port: number;
  close(): void;
}

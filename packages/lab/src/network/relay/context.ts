import type { DelayQueue } from "./delay-queue.ts";

export interface RelayContext {
  monotonic(): number;
  readonly queue: DelayQueue;
  fault(event: string, message: string): void;
}

export interface Listener {
  readonly port: number;
  close(): void;
}

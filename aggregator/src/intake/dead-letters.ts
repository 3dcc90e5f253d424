import type { Bus, BusRecord } from "@isochrone/bus";
import type { Leadership } from "@isochrone/kubernetes";
import type { Clock, Logger } from "@isochrone/runtime";
import { STATE_TOPICS } from "@isochrone/telemetry";
import type { DeadLetterCounter } from "./intake-metrics.ts";

/** Headers of a dead letter; its value is the beginning of the record's. */
const DEAD_LETTER_HEADERS = {
  reason: "isochrone-reason",
  topic: "isochrone-topic",
  partition: "isochrone-partition",
  offset: "isochrone-offset",
  /** Of the whole value, bytes. */
  size: "isochrone-size",
} as const;

const MAX_VALUE_BYTES = 65_536;
/** After a quiet time so many may come at once, and then so many per second. */
const BURST = 50;
const PER_SECOND = 2;
/** Publishes under way; the bus may be away. */
const MAX_OPEN = BURST;

/**
 * Keeps what could not be used for inspection: reason, position and beginning. Never waited for, and never
 * more than a little.
 */
export class DeadLetters {
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #counter: DeadLetterCounter;
  readonly #leadership: Leadership;
  #allowance = BURST;
  #countedMs: number;
  #open = 0;

  constructor(options: {
    readonly bus: Bus;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly counter: DeadLetterCounter;
    readonly leadership: Leadership;
  }) {
    this.#bus = options.bus;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#counter = options.counter;
    this.#leadership = options.leadership;
    this.#countedMs = options.clock.monotonic();
  }

  offer(record: BusRecord, reason: string): void {
    // All replicas read the record: one letter is enough.
    if (!this.#leadership.isLeader()) return;
    if (!this.#isAllowed()) {
      this.#counter.inc({ result: "suppressed" });
      return;
    }
    this.#open++;
    void this.#publish(record, reason).finally(() => this.#open--);
  }

  #isAllowed(): boolean {
    const nowMs = this.#clock.monotonic();
    this.#allowance = Math.min(BURST, this.#allowance + (PER_SECOND * (nowMs - this.#countedMs)) / 1000);
    this.#countedMs = nowMs;
    if (this.#allowance < 1 || this.#open >= MAX_OPEN) return false;
    this.#allowance--;
    return true;
  }

  async #publish({ topic, partition, offset, key, value }: BusRecord, reason: string): Promise<void> {
    const headers = {
      [DEAD_LETTER_HEADERS.reason]: reason,
      [DEAD_LETTER_HEADERS.topic]: topic,
      [DEAD_LETTER_HEADERS.partition]: String(partition),
      [DEAD_LETTER_HEADERS.offset]: String(offset),
      [DEAD_LETTER_HEADERS.size]: String(value.byteLength),
    };
    // A copy: the record's bytes may be the bus' own again by the time they are sent.
    const beginning = value.slice(0, MAX_VALUE_BYTES);
    try {
      await this.#bus.publish(STATE_TOPICS.deadLetter, [{ key, value: beginning, headers }]);
      this.#counter.inc({ result: "published" });
    } catch (error) {
      this.#counter.inc({ result: "failed" });
      this.#logger.warnOnce("deadletter", "a dead letter could not be published", {
        error,
        topic,
        partition,
        offset,
      });
    }
  }
}

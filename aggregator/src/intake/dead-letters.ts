import type { Bus, BusRecord } from "@isochrone/bus";
import type { Leadership } from "@isochrone/kubernetes";
import type { Clock, Logger } from "@isochrone/runtime";
import { STATE_TOPICS } from "@isochrone/telemetry";
import type { DeadLetterCounter } from "./intake-metrics.ts";

/** Headers of a dead letter. Its value is the start of the record's value. */
const DEAD_LETTER_HEADERS = {
  reason: "isochrone-reason",
  topic: "isochrone-topic",
  partition: "isochrone-partition",
  offset: "isochrone-offset",
  size: "isochrone-size",
} as const;

const MAX_VALUE_BYTES = 65_536;
/** Token bucket: burst size, refilled at the rate below. */
const BURST = 50;
const PER_SECOND = 2;
/** Limit of open publishes, because the bus may be unavailable. */
const MAX_OPEN = BURST;

/** Publishes refused records for inspection. Never waits, and drops what exceeds the rate. */
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
    // All replicas read the record, so only the leader publishes it.
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
    // Copies, because the bus may reuse the record's buffer.
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

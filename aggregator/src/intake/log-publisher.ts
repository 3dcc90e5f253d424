import type { Bus, OutgoingRecord } from "@isochrone/bus";
import { DEFAULT_BACKOFF, delayMs, pause, type Clock, type Logger, type Random } from "@isochrone/runtime";
import { STATE_TOPICS } from "@isochrone/telemetry";
import type { SharedMetrics } from "./intake-metrics.ts";

/** What goes to the bus in one call at most; a single larger record still goes. */
const MAX_CALL_BYTES = 4 * 1024 * 1024;
/** What is under way at a time, of all partitions together: a bus refuses more than some of these. */
const MAX_UNDER_WAY_BYTES = 16 * 1024 * 1024;
const BACKOFF = { ...DEFAULT_BACKOFF, maxMs: 5000 };

/** Writes to the log, in order, until it is done or told to stop. */
export class LogPublisher {
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #metrics: SharedMetrics;
  #underWayBytes = 0;
  #room = Promise.withResolvers<void>();

  constructor(options: {
    readonly bus: Bus;
    readonly clock: Clock;
    readonly random: Random;
    readonly logger: Logger;
    readonly metrics: SharedMetrics;
  }) {
    this.#bus = options.bus;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#logger = options.logger;
    this.#metrics = options.metrics;
  }

  /** Never rejects. What may have arrived already is sent again as it is: readers take it for a repeat. */
  async publish(records: readonly OutgoingRecord[], signal: AbortSignal): Promise<void> {
    for (const group of groupsOf(records)) {
      const bytes = group.reduce((sum, { value }) => sum + value.byteLength, 0);
      while (!signal.aborted && this.#underWayBytes > 0 && this.#underWayBytes + bytes > MAX_UNDER_WAY_BYTES)
        await settledOrAborted(this.#room.promise, signal);
      this.#underWayBytes += bytes;
      for (let attempt = 1; !signal.aborted && !(await this.#attempt(group, signal)); attempt++)
        await pause(this.#clock, delayMs(BACKOFF, attempt, this.#random), signal);
      this.#underWayBytes -= bytes;
      const { resolve } = this.#room;
      this.#room = Promise.withResolvers();
      resolve();
    }
  }

  async #attempt(records: readonly OutgoingRecord[], signal: AbortSignal): Promise<boolean> {
    try {
      await this.#bus.publish(STATE_TOPICS.pane, records, { signal });
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      this.#metrics.publishFailures.inc();
      this.#logger.warnOnce("pane:publish", "publishing to the log failed, it is tried again", {
        topic: STATE_TOPICS.pane,
        error,
      });
      return false;
    }
  }
}

/** Leaves no listener behind: the signal is that of an ownership, which lives for long. */
async function settledOrAborted(settled: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const onAbort = (): void => resolve();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await Promise.race([settled, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function* groupsOf(records: readonly OutgoingRecord[]): Generator<readonly OutgoingRecord[]> {
  let group: OutgoingRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    if (group.length > 0 && bytes + record.value.byteLength > MAX_CALL_BYTES) {
      yield group;
      group = [];
      bytes = 0;
    }
    group.push(record);
    bytes += record.value.byteLength;
  }
  if (group.length > 0) yield group;
}

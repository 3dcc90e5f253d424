import { pause } from "@isochrone/runtime";
import type { Clock } from "@isochrone/runtime";

import { BusError } from "../../ports/errors.ts";
import type { OutgoingRecord } from "../../ports/port.ts";
import { sizeOf } from "./partition-log.ts";
import type { Bounds, PartitionLog } from "./partition-log.ts";

type Parts = ReadonlyMap<PartitionLog, readonly OutgoingRecord[]>;

interface AdmissionOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly capacity: Bounds;
  /** Offset of the slowest reader; null: no reader limits the partition. */
  readonly floor: (log: PartitionLog) => number | null;
}

interface Waiter {
  readonly parts: Parts;
  readonly sizes: ReadonlyMap<PartitionLog, number>;
  readonly admitted: PromiseWithResolvers<void>;
}

/**
 * Admits publishers while there is room. Records of one publish enter together. Publishers of a partition
 * enter in call order, which keeps the order per key.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  #waiting: Waiter[] = [];

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  async admit(parts: Parts, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) throw abortedError(signal);
    const waiter: Waiter = { parts, sizes: this.#measure(parts), admitted: Promise.withResolvers() };
    this.#waiting.push(waiter);
    this.pump();
    if (this.#waiting.includes(waiter)) this.#limitWait(waiter, signal);
    await waiter.admitted.promise;
  }

  /** Admits waiting publishers; call it when room may have appeared. */
  pump(): void {
    const blocked = new Set<PartitionLog>();
    this.#waiting = this.#waiting.filter((waiter) => {
      const logs = [...waiter.parts.keys()];
      if (logs.every((log) => !blocked.has(log) && this.#hasRoom(log, waiter))) {
        const nowMs = this.#options.clock.now();
        for (const [log, records] of waiter.parts) log.append(records, nowMs);
        waiter.admitted.resolve();
        return false;
      }
      for (const log of logs) blocked.add(log);
      return true;
    });
  }

  close(error: BusError): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const waiter of waiting) waiter.admitted.reject(error);
  }

  #measure(parts: Parts): Map<PartitionLog, number> {
    const { capacity } = this.#options;
    const sizes = new Map<PartitionLog, number>();
    for (const [log, records] of parts) {
      const bytes = records.reduce((sum, record) => sum + sizeOf(record), 0);
      if (records.length > capacity.records || bytes > capacity.bytes) {
        throw new BusError(
          "too_large",
          `one publish to ${log.topic}/${log.partition} must be at most ${capacity.records} records and ${capacity.bytes} bytes, got ${records.length} and ${bytes}`,
        );
      }
      sizes.set(log, bytes);
    }
    return sizes;
  }

  #hasRoom(log: PartitionLog, waiter: Waiter): boolean {
    const floor = this.#options.floor(log);
    if (floor === null) return true;
    const { capacity } = this.#options;
    const records = log.end - Math.max(floor, log.start) + (waiter.parts.get(log)?.length ?? 0);
    const bytes = log.bytesFrom(floor) + (waiter.sizes.get(log) ?? 0);
    return records <= capacity.records && bytes <= capacity.bytes;
  }

  /** Ends the wait by timeout or the caller's abort signal, whichever is first, and cleans up the other. */
  #limitWait(waiter: Waiter, signal: AbortSignal | undefined): void {
    const settled = new AbortController();
    const onAbort = (): void => this.#refuse(waiter, abortedError(signal));
    signal?.addEventListener("abort", onAbort, { once: true });
    void this.#refuseAfter(waiter, settled.signal);
    const cleanUp = (): void => {
      signal?.removeEventListener("abort", onAbort);
      settled.abort();
    };
    waiter.admitted.promise.then(cleanUp, cleanUp);
  }

  async #refuseAfter(waiter: Waiter, settled: AbortSignal): Promise<void> {
    const { clock, timeoutMs } = this.#options;
    await pause(clock, timeoutMs, settled);
    if (settled.aborted) return;
    const partitions = [...waiter.parts.keys()].map((log) => `${log.topic}/${log.partition}`).join(", ");
    this.#refuse(waiter, new BusError("overloaded", `no room on ${partitions} within ${timeoutMs} ms`));
  }

  #refuse(waiter: Waiter, error: BusError): void {
    if (!this.#waiting.includes(waiter)) return;
    this.#waiting = this.#waiting.filter((other) => other !== waiter);
    waiter.admitted.reject(error);
    // Smaller publishes behind the removed one may fit.
    this.pump();
  }
}

function abortedError(signal: AbortSignal | undefined): BusError {
  return new BusError("aborted", "publishing was aborted by the caller", { cause: signal?.reason });
}

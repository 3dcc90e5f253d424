import type { BusRecord } from "@isochrone/bus";
import { isTracing, spanContextOf, withSpan } from "@isochrone/runtime/tracing";

/** Spans that may be open at a time: the others' traces end on the bus. */
const MAX_OPEN = 64;

/**
 * Goes on with the trace of a scrape until what it found is in the windows. Costs next to nothing without
 * tracing.
 */
export class RecordTraces {
  #open = 0;

  /**
   * Begins a span, part of the trace that the record belongs to. Gives what ends it; null when there is none.
   */
  begin({ topic, partition, offset, headers }: BusRecord): (() => void) | null {
    if (!isTracing() || this.#open >= MAX_OPEN) return null;
    const parent = spanContextOf(headers);
    if (parent === null) return null;
    this.#open++;
    const attributes = {
      "messaging.destination.name": topic,
      "messaging.destination.partition.id": String(partition),
      "messaging.kafka.offset": offset,
    };
    const { promise, resolve } = Promise.withResolvers<void>();
    void withSpan("aggregator.intake", attributes, () => promise, { parent }).finally(() => this.#open--);
    return resolve;
  }
}

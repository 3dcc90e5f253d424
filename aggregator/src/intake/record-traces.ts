import type { BusRecord } from "@isochrone/bus";
import { isTracing, spanContextOf, withSpan } from "@isochrone/runtime/tracing";

/** Limit of open spans. Other records' traces end at the bus. */
const MAX_OPEN = 64;

/** Continues the trace of a scrape until its data is in the windows. Nearly free without tracing. */
export class RecordTraces {
  #open = 0;

  /** Starts a span in the record's trace. Returns a function that ends it, or null without a trace. */
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

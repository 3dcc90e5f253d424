/** Bounds of the records kept for a bus that accepts none. Tests pass others. */
export interface BufferBounds {
  readonly bufferBytes?: number;
  readonly bufferMaxAgeMs?: number;
  readonly catchUpRecordsPerSecond?: number;
}

const MAX_RECORDS = 10_000;
const BUFFER_BYTES = 8 * 1024 * 1024;
/** The aggregator's window has passed older records. */
const BUFFER_MAX_AGE_MS = 300_000;
/** Bounds the load of many collectors that catch up together. */
const CATCH_UP_RECORDS_PER_SECOND = 5;

export function bufferLimits(bounds: BufferBounds) {
  return {
    maxRecords: MAX_RECORDS,
    maxBytes: bounds.bufferBytes ?? BUFFER_BYTES,
    maxAgeMs: bounds.bufferMaxAgeMs ?? BUFFER_MAX_AGE_MS,
    catchUpRecordsPerSecond: bounds.catchUpRecordsPerSecond ?? CATCH_UP_RECORDS_PER_SECOND,
  };
}

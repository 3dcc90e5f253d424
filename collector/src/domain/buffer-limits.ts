/** What is kept for a bus that takes nothing, and how fast it is told afterwards. */
interface BufferSettings {
  readonly bufferBytes: number;
  readonly bufferMaxAgeMs: number;
  readonly catchUpRecordsPerSecond: number;
}

const MAX_RECORDS = 10_000;

/** The limits of a collector's buffer, whichever its mode. */
export function bufferLimits({ bufferBytes, bufferMaxAgeMs, catchUpRecordsPerSecond }: BufferSettings) {
  return {
    maxRecords: MAX_RECORDS,
    maxBytes: bufferBytes,
    maxAgeMs: bufferMaxAgeMs,
    catchUpRecordsPerSecond,
  };
}

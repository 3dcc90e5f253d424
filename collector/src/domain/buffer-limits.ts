interface BufferSettings {
  readonly bufferBytes: number;
  readonly bufferMaxAgeMs: number;
  readonly catchUpRecordsPerSecond: number;
}

const MAX_RECORDS = 10_000;

export function bufferLimits({ bufferBytes, bufferMaxAgeMs, catchUpRecordsPerSecond }: BufferSettings) {
  return {
    maxRecords: MAX_RECORDS,
    maxBytes: bufferBytes,
    maxAgeMs: bufferMaxAgeMs,
    catchUpRecordsPerSecond,
  };
}

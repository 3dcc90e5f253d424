/** Structured log of one component. `event`: a short, stable sentence fragment; data goes into fields. */
export interface Logger {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /**
   * Like warn, but once per key and hour (default); the next line reports the number of repeats
   * (`suppressed`). For faults that a bad source repeats.
   */
  warnOnce(key: string, event: string, fields?: LogFields): void;
  child(fields: LogFields): Logger;
}

export type LogFields = Readonly<Record<string, unknown>>;

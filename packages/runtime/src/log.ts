/**
 * Structured log of one component. `event` is a short, stable sentence fragment; data goes into fields, never
 * into the event.
 */
export interface Logger {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /**
   * As warn, but once per key and hour (default); repeats are counted and reported with the next line
   * (`suppressed`). For faults that a bad source repeats.
   */
  warnOnce(key: string, event: string, fields?: LogFields): void;
  child(fields: LogFields): Logger;
}

/** `error` may hold an Error: message, code and cause chain are written. Secrets never go here. */
export type LogFields = Readonly<Record<string, unknown>>;

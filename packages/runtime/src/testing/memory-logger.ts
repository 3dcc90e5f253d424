import type { Clock } from "../clock.ts";
import type { LogFields, Logger } from "../log.ts";
import { OnceFilter } from "../log/once-filter.ts";

interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly event: string;
  readonly fields: LogFields;
}

/** Collects log lines of code under test, including children's. */
export class MemoryLogger implements Logger {
  readonly lines: LogLine[];
  readonly #bound: LogFields;
  readonly #once: OnceFilter;

  /** Without a clock the interval of `warnOnce` never ends. */
  constructor(
    options: { readonly clock?: Clock; readonly parent?: MemoryLogger; readonly bound?: LogFields } = {},
  ) {
    const { clock, parent, bound } = options;
    this.lines = parent?.lines ?? [];
    this.#bound = { ...(parent ? parent.#bound : {}), ...bound };
    this.#once = parent ? parent.#once : new OnceFilter({ clock: clock ?? { monotonic: () => 0 } });
  }

  debug(event: string, fields: LogFields = {}): void {
    this.#write("debug", event, fields);
  }

  info(event: string, fields: LogFields = {}): void {
    this.#write("info", event, fields);
  }

  warn(event: string, fields: LogFields = {}): void {
    this.#write("warn", event, fields);
  }

  error(event: string, fields: LogFields = {}): void {
    this.#write("error", event, fields);
  }

  warnOnce(key: string, event: string, fields: LogFields = {}): void {
    const pass = this.#once.pass(key);
    if (pass)
      this.#write("warn", event, pass.suppressed > 0 ? { ...fields, suppressed: pass.suppressed } : fields);
  }

  child(fields: LogFields): MemoryLogger {
    return new MemoryLogger({ parent: this, bound: fields });
  }

  events(level?: LogLine["level"]): string[] {
    return this.lines.filter((line) => level === undefined || line.level === level).map((line) => line.event);
  }

  #write(level: LogLine["level"], event: string, fields: LogFields): void {
    this.lines.push({ level, event, fields: { ...this.#bound, ...fields } });
  }
}

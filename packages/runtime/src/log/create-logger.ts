import { pino } from "pino";
import type { Clock } from "../clock.ts";
import type { LogFields, Logger } from "../log.ts";
import { systemClock } from "../system.ts";
import { OnceFilter } from "./once-filter.ts";
import { printableFields } from "./redact.ts";
import { textLine } from "./text-line.ts";
import { visibleSource } from "../visible.ts";

/** Rising order; a logger writes its level and those above. */
const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;

type LogLevel = (typeof LOG_LEVELS)[number];

interface LogDestination {
  write(line: string): unknown;
}

export interface LoggerOptions {
  readonly service: string;
  readonly level: LogLevel;
  readonly format?: "json" | "text";
  readonly destination?: LogDestination;
  readonly clock?: Clock;
  /** Interval of warnOnce per key. @default 3600000 */
  readonly onceIntervalMs?: number;
}

type WriteLine = (level: LogLevel, event: string, fields: LogFields) => void;

// Names of the line itself; equally named fields get an underscore.
const RESERVED = new Set(["level", "time", "event"]);

/** Writes one line of JSON (or text, for people) per event. */
export function createLogger(options: LoggerOptions): Logger {
  const clock = options.clock ?? systemClock;
  const write = options.format === "text" ? textWriter(options, clock) : jsonWriter(options, clock);
  const once = new OnceFilter({
    clock,
    ...(options.onceIntervalMs === undefined ? {} : { intervalMs: options.onceIntervalMs }),
  });
  const threshold = LOG_LEVELS.indexOf(options.level);
  const filtered: WriteLine = (level, event, fields) => {
    if (LOG_LEVELS.indexOf(level) >= threshold) write(level, event, fields);
  };
  return new BoundLogger(filtered, once, { service: options.service });
}

class BoundLogger implements Logger {
  readonly #write: WriteLine;
  readonly #once: OnceFilter;
  readonly #bound: LogFields;

  constructor(write: WriteLine, once: OnceFilter, bound: LogFields) {
    this.#write = write;
    this.#once = once;
    this.#bound = bound;
  }

  debug(event: string, fields?: LogFields): void {
    this.#line("debug", event, fields);
  }

  info(event: string, fields?: LogFields): void {
    this.#line("info", event, fields);
  }

  warn(event: string, fields?: LogFields): void {
    this.#line("warn", event, fields);
  }

  error(event: string, fields?: LogFields): void {
    this.#line("error", event, fields);
  }

  warnOnce(key: string, event: string, fields?: LogFields): void {
    const pass = this.#once.pass(key);
    if (pass === null) return;
    this.#line("warn", event, pass.suppressed > 0 ? { ...fields, suppressed: pass.suppressed } : fields);
  }

  child(fields: LogFields): Logger {
    return new BoundLogger(this.#write, this.#once, { ...this.#bound, ...fields });
  }

  #line(level: LogLevel, event: string, fields: LogFields | undefined): void {
    this.#write(level, event, { ...this.#bound, ...fields });
  }
}

function jsonWriter(options: LoggerOptions, clock: Clock): WriteLine {
  const settings = {
    level: options.level,
    base: null,
    messageKey: "event",
    timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
    // JSON only escapes the first 32 control characters.
    hooks: { streamWrite: visibleSource },
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const destination = options.destination ?? standardOutput();
  const sink = pino(settings, { write: (line: string) => void destination.write(line) });
  return (level, event, fields) => {
    sink[level](withoutReserved(printableFields(fields)), event);
  };
}

function textWriter(options: LoggerOptions, clock: Clock): WriteLine {
  const destination = options.destination ?? standardOutput();
  return (level, event, fields) => {
    destination.write(textLine(new Date(clock.now()), level, event, printableFields(fields)));
  };
}

let output: LogDestination | null = null;

/**
 * Drops lines if nobody reads standard output, so that the service continues. Replaces pino's destination,
 * whose flush at exit retries a broken pipe forever. Writes to pipes and files are synchronous, so no flush
 * is needed.
 */
function standardOutput(): LogDestination {
  if (output !== null) return output;
  let isBroken = false;
  process.stdout.on("error", () => (isBroken = true));
  output = { write: (line) => isBroken || process.stdout.write(line) };
  return output;
}

function withoutReserved(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [RESERVED.has(name) ? `${name}_` : name, value]),
  );
}

import { pino } from "pino";
import type { Clock } from "../clock.ts";
import type { LogFields, Logger } from "../log.ts";
import { systemClock } from "../system.ts";
import { OnceFilter } from "./once-filter.ts";
import { printableFields } from "./redact.ts";
import { textLine } from "./text-line.ts";
import { visibleSource } from "../visible.ts";

/** Levels in rising order; a logger writes its own level and those above. */
const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;

/** One of {@link LOG_LEVELS}. */
type LogLevel = (typeof LOG_LEVELS)[number];

/** Takes whole lines, each with its line break. process.stdout is one. */
interface LogDestination {
  write(line: string): unknown;
}

/** Options of {@link createLogger}. */
export interface LoggerOptions {
  readonly service: string;
  readonly level: LogLevel;
  /** @default "json" */
  readonly format?: "json" | "text";
  /** @default standard output */
  readonly destination?: LogDestination;
  readonly clock?: Clock;
  /** How long warnOnce holds repeats of a key back. @default 3600000 */
  readonly onceIntervalMs?: number;
}

type WriteLine = (level: LogLevel, event: string, fields: LogFields) => void;

// These names belong to the line itself; a field of that name gets an underscore.
const RESERVED = new Set(["level", "time", "event"]);

/** A logger that writes a line of JSON (or of text, for people) per event. */
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
    // JSON itself escapes no more than the first 32 control characters.
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
 * Drops lines once nobody reads standard output, and the service goes on. Replaces pino's own destination,
 * whose flush at exit retries a broken pipe for ever. Writes to pipes and files are synchronous, so nothing
 * is left to flush.
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

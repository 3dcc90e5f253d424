import { visible } from "../visible.ts";

/** A line such as `12:00:00.000 INFO probe round done sent=12`, without line breaks or control sequences. */
export function textLine(
  time: Date,
  level: string,
  event: string,
  { service, ...fields }: Readonly<Record<string, unknown>>,
): string {
  const words = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${show(value)}`);
  const head = `${time.toISOString().slice(11, 23)} ${level.toUpperCase().padEnd(5)} ${show(service ?? "-")}`;
  return `${visible([head, oneLine(event), ...words].join(" "))}\n`;
}

function show(value: unknown): string {
  if (typeof value === "string") return /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value);
  if (isError(value)) return JSON.stringify(chain(value));
  return JSON.stringify(value) ?? String(value);
}

interface PlainError {
  readonly type: string;
  readonly message: string;
  readonly stack: string;
  readonly code?: unknown;
  readonly cause?: unknown;
}

function isError(value: unknown): value is PlainError {
  return (
    typeof value === "object" && value !== null && "type" in value && "message" in value && "stack" in value
  );
}

function chain(error: PlainError): string {
  const parts: string[] = [];
  let current: unknown = error;
  while (typeof current === "object" && current !== null && "message" in current) {
    parts.push(String(current.message));
    current = "cause" in current ? current.cause : undefined;
  }
  return parts.join(": ");
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n\u2028\u2029]+/g, " ");
}

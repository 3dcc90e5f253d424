// Formats figures. Unknown is a dash, never 0.

export const UNKNOWN = "–";

type Figure = number | null | undefined;

const isKnown = (value: Figure): value is number =>
  value !== null && value !== undefined && Number.isFinite(value);

/** At most three significant digits, no exponent. */
export function figure(value: Figure): string {
  if (!isKnown(value)) return UNKNOWN;
  const size = Math.abs(value);
  if (size >= 100 || value === 0) return grouped(Math.round(value));
  return trimmed(value.toFixed(size >= 10 ? 1 : 2));
}

/** `12.3 ms`; microseconds below 0.1 ms. */
export function milliseconds(value: Figure): string {
  if (!isKnown(value)) return UNKNOWN;
  if (value !== 0 && Math.abs(value) < 0.1) return `${figure(value * 1000)} µs`;
  return value >= 10_000 ? `${figure(value / 1000)} s` : `${figure(value)} ms`;
}

export function percent(ratio: Figure): string {
  if (!isKnown(ratio)) return UNKNOWN;
  if (ratio > 0 && ratio < 0.0005) return "< 0.1 %";
  return `${trimmed((ratio * 100).toFixed(1))} %`;
}

const DECIMAL = ["", "k", "M", "G", "T"];
const BINARY = ["B", "KiB", "MiB", "GiB", "TiB"];

function scaled(value: number, base: number, steps: number): readonly [string, number] {
  let step = 0;
  let rest = value;
  while (Math.abs(rest) >= base && step < steps - 1) {
    rest /= base;
    step++;
  }
  return [step === 0 ? figure(rest) : trimmed(rest.toFixed(Math.abs(rest) >= 100 ? 0 : 1)), step];
}

export function memory(bytes: Figure): string {
  if (!isKnown(bytes)) return UNKNOWN;
  const [text, step] = scaled(bytes, 1024, BINARY.length);
  return `${text} ${BINARY[step]!}`;
}

export function bytesPerSecond(bytes: Figure): string {
  if (!isKnown(bytes)) return UNKNOWN;
  const [text, step] = scaled(bytes, 1000, DECIMAL.length);
  return `${text} ${DECIMAL[step]!}B/s`;
}

export function bitsPerSecond(bits: Figure): string {
  if (!isKnown(bits)) return UNKNOWN;
  const [text, step] = scaled(bits, 1000, DECIMAL.length);
  return `${text} ${DECIMAL[step]!}bit/s`;
}

export function count(value: Figure): string {
  if (!isKnown(value)) return UNKNOWN;
  if (Math.abs(value) < 10_000) return grouped(Math.round(value));
  const [text, step] = scaled(value, 1000, DECIMAL.length);
  return `${text} ${DECIMAL[step]!}`;
}

export function cpu(millicores: Figure): string {
  if (!isKnown(millicores)) return UNKNOWN;
  return millicores >= 1000 ? `${figure(millicores / 1000)} cores` : `${figure(millicores)} m`;
}

/** `8 s`, `3 min`, `2.5 h`. */
export function age(seconds: Figure): string {
  if (!isKnown(seconds)) return UNKNOWN;
  if (seconds < 1) return "now";
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800
    ? `${trimmed((seconds / 3600).toFixed(1))} h`
    : `${Math.round(seconds / 86_400)} d`;
}

/** `14:03:22` in the user's time zone; with the date unless today. */
export function clockTime(at: string | number, nowMs: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return UNKNOWN;
  const time = date.toLocaleTimeString("en-GB");
  return date.toDateString() === new Date(nowMs).toDateString()
    ? time
    : `${date.toLocaleDateString("en-CA")} ${time}`;
}

export function plural(number: number, word: string): string {
  return `${grouped(number)} ${word}${number === 1 ? "" : "s"}`;
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Groups digits by thin spaces: commas and points are ambiguous internationally. */
function grouped(value: number): string {
  return String(value).replaceAll(/\B(?=(\d{3})+$)/g, "\u202f");
}

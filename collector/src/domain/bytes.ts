export const BYTE = {
  newline: 10,
  return: 13,
  tab: 9,
  space: 32,
  quote: 34,
  hash: 35,
  comma: 44,
  equals: 61,
  backslash: 92,
  n: 110,
  openBrace: 123,
  closeBrace: 125,
} as const;

const LABEL_START = 1;
const LABEL = 2;
const METRIC_START = 4;
const METRIC = 8;

const CLASSES = new Uint8Array(256);
for (const [first, last, classes] of [
  ["a", "z", LABEL_START | LABEL | METRIC_START | METRIC],
  ["A", "Z", LABEL_START | LABEL | METRIC_START | METRIC],
  ["_", "_", LABEL_START | LABEL | METRIC_START | METRIC],
  ["0", "9", LABEL | METRIC],
  [":", ":", METRIC_START | METRIC],
] as const)
  CLASSES.fill(classes, first.charCodeAt(0), last.charCodeAt(0) + 1);

/** End of the metric name at `start`; `start` if there is none. */
export function endOfMetricName(bytes: Uint8Array, start: number, end: number): number {
  return endOfName(bytes, start, end, METRIC_START, METRIC);
}

/** End of the label name at `start`; `start` if there is none. */
export function endOfLabelName(bytes: Uint8Array, start: number, end: number): number {
  return endOfName(bytes, start, end, LABEL_START, LABEL);
}

function endOfName(bytes: Uint8Array, start: number, end: number, first: number, rest: number): number {
  if (start >= end || (CLASSES[bytes[start]!]! & first) === 0) return start;
  let at = start + 1;
  while (at < end && (CLASSES[bytes[at]!]! & rest) !== 0) at++;
  return at;
}

export function skipBlanks(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && isBlank(bytes[at]!)) at++;
  return at;
}

export function endOfWord(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && !isBlank(bytes[at]!)) at++;
  return at;
}

export function isBlank(byte: number): boolean {
  return byte === BYTE.space || byte === BYTE.tab;
}

const utf8 = new TextDecoder();

export function textOf(bytes: Uint8Array, start: number, end: number): string {
  if (end - start > 64) return utf8.decode(bytes.subarray(start, end));
  let text = "";
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte > 0x7f) return utf8.decode(bytes.subarray(start, end));
    text += String.fromCharCode(byte);
  }
  return text;
}

/** Resolves the format's three escapes; other backslashes are literal. */
export function unescape(text: string): string {
  return text.replace(/\\([\\"n])/g, (_, character: string) => (character === "n" ? "\n" : character));
}

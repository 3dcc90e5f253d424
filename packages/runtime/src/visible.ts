// Escapes untrusted names, which could control a terminal, hide text or forge lines.

/**
 * Control characters (C0, DEL, C1), bidirectional controls, invisible characters, line and paragraph
 * separators, tags, and lone surrogates.
 */
const HIDDEN =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;
const HIDDEN_IN_LINES =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

/** Escapes hidden characters in a word or line as `\u{1b}`. Idempotent. */
export function visible(text: string): string {
  return text.replace(HIDDEN, shown);
}

/** {@link visible} for our own multi-line text: keeps line feeds and tabs. */
export function visibleLines(text: string): string {
  return text.replace(HIDDEN_IN_LINES, shown);
}

/** Copies plain data with {@link visible} applied to every text, including field names. */
export function visibleData<T>(data: T): T {
  return copied(data) as T;
}

/** For JSON, or YAML with such texts in double quotes: both read `\u001b` as the original character. */
export function visibleSource(source: string): string {
  return source.replace(HIDDEN_IN_LINES, (character) =>
    [...Array(character.length).keys()]
      .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

export function visibleExposition(page: string): string {
  return page.replace(HIDDEN_IN_LINES, (character) => `\\${shown(character)}`);
}

export function hasHidden(text: string): boolean {
  return text.search(HIDDEN) >= 0;
}

function shown(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`;
}

function copied(value: unknown): unknown {
  if (typeof value === "string") return visible(value);
  if (Array.isArray(value)) return value.map(copied);
  if (value === null || typeof value !== "object") return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  // Dates, maps and class instances aren't others' data.
  if (prototype !== Object.prototype && prototype !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [visible(name), copied(field)]));
}

// Names come from whoever may label a pod. Shown raw, they could give a terminal orders, hide text or forge a
// line.

/**
 * What a terminal acts on or doesn't show: control characters (C0, DEL, C1), what changes the direction of
 * text, invisible characters, separators of lines and paragraphs, tags, and halves of surrogate pairs.
 */
const HIDDEN =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;
/** As {@link HIDDEN}, without what lays out text of our own. */
const HIDDEN_IN_LINES =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

/**
 * One word or line of data for people: what is hidden is shown as `\u{1b}`. Applied twice it changes nothing
 * more.
 */
export function visible(text: string): string {
  return text.replace(HIDDEN, shown);
}

/** As {@link visible}, of text that we have laid out: line feeds and tabs stay. */
export function visibleLines(text: string): string {
  return text.replace(HIDDEN_IN_LINES, shown);
}

/**
 * A copy of plain data in which every text, names of fields too, is {@link visible}: what is written about it
 * for people is then.
 */
export function visibleData<T>(data: T): T {
  return copied(data) as T;
}

/**
 * JSON, or YAML whose texts with such characters are in double quotes: both read `\u001b` as the character
 * that it was.
 */
export function visibleSource(source: string): string {
  return source.replace(HIDDEN_IN_LINES, (character) =>
    [...Array(character.length).keys()]
      .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** A page of metrics in the text format, in whose labels a backslash is written as two. */
export function visibleExposition(page: string): string {
  return page.replace(HIDDEN_IN_LINES, (character) => `\\${shown(character)}`);
}

/** Whether {@link visible} would change the text. */
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
  // Dates, maps and instances of classes are no data of others.
  if (prototype !== Object.prototype && prototype !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [visible(name), copied(field)]));
}

import type { SourceText } from "./source-text.ts";

const MAX_WIDTH = 110;

/** Numbers of too wide lines with comments in TypeScript or JavaScript. */
export function wideCommentLines(text: string, { comments }: SourceText): number[] {
  const wide = new Set<number>();
  const lines = new Lines(text);
  for (const { start, end } of comments)
    for (let line = lines.at(start); line <= lines.at(end - 1); line++)
      if (lines.text(line).length > MAX_WIDTH && isBreakable(lines.text(line))) wide.add(line);
  return [...wide];
}

/** As above for `#` comments and template comments in braces. */
export function wideHashLines(text: string): number[] {
  return text.split("\n").flatMap((line, index) => {
    const isComment = /^\s*(#(?!!)|\{\{-?\s*\/\*)/.test(line);
    return isComment && line.length > MAX_WIDTH && !isOneWord(line) ? [index + 1] : [];
  });
}

export function wideMarkdownLines(text: string): number[] {
  const wide: number[] = [];
  let fence: string | null = null;
  const lines = text.split("\n");
  for (const [index, line] of lines.entries()) {
    const mark = /^\s*(?:[-*+]\s+|\d+\.\s+|>\s*)*(```+|~~~+)/.exec(line)?.[1];
    if (fence === null && mark !== undefined) fence = mark;
    else if (fence !== null) fence = mark !== undefined && mark.startsWith(fence) ? null : fence;
    else if (line.length > MAX_WIDTH && isProse(line) && !isIndentedCode(lines, index)) wide.push(index + 1);
  }
  return wide;
}

function isIndentedCode(lines: readonly string[], index: number): boolean {
  const start = lines.slice(0, index).findLastIndex((line) => !/^ {4}/.test(line));
  const before = lines.slice(0, index).findLast((line) => /^\S/.test(line)) ?? "";
  const isInList = /^([-*+]|\d+[.)])\s/.test(before);
  return /^ {4}/.test(lines[index]!) && (start === -1 || lines[start]!.trim() === "") && !isInList;
}

function isProse(line: string): boolean {
  if (/^\s*(\||#{1,6} |<|\[[^\]]+\]: )/.test(line)) return false;
  return !isOneWord(line.replaceAll(/!?\[[^\]]*\]\([^)]*\)/g, "link").replaceAll(/`[^`]*`/g, "code"));
}

/** Table rows and linter directives cannot be broken. */
function isBreakable(line: string): boolean {
  return !isOneWord(line) && !/^\s*(\/\/|\*)\s*\||(ox|es)lint-disable/.test(line);
}

function isOneWord(line: string): boolean {
  const words = line
    .trim()
    .replace(/^(\/\/+|\/?\*+|#+|[-*+>]|\d+\.)\s*/, "")
    .replace(/\s*\*\/$/, "");
  return !/\s/.test(words);
}

class Lines {
  readonly #text: string;
  readonly #starts: number[] = [0];

  constructor(text: string) {
    this.#text = text;
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) this.#starts.push(at + 1);
  }

  at(position: number): number {
    let [low, high] = [0, this.#starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.#starts[middle]! <= position) low = middle;
      else high = middle;
    }
    return low + 1;
  }

  text(line: number): string {
    return this.#text.slice(this.#starts[line - 1], (this.#starts[line] ?? this.#text.length + 1) - 1);
  }
}

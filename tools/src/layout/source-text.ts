// A light TypeScript lexer that finds comments and contents of strings.

interface Range {
  readonly start: number;
  readonly end: number;
}

export interface SourceText {
  /** Same length as the text; comments, strings and regular expressions are blanked. */
  readonly code: string;
  readonly comments: readonly Range[];
}

const REGEX_CONTEXT = /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|do|else|yield|await))\s*$/;
const CONTEXT_LENGTH = 60;

export function readSource(text: string): SourceText {
  return new Lexer(text).run();
}

class Lexer {
  readonly #text: string;
  readonly #comments: Range[] = [];
  readonly #parts: string[] = [];
  readonly #templates: number[] = [];
  #copied = 0;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  run(): SourceText {
    while (this.#at < this.#text.length) this.#step();
    this.#parts.push(this.#text.slice(this.#copied));
    return { code: this.#parts.join(""), comments: this.#comments };
  }

  #step(): void {
    const char = this.#text[this.#at];
    if (char === "/") this.#slash();
    else if (char === '"' || char === "'") this.#blank(this.#at + 1, this.#endOfString(char), 1);
    else if (char === "`") this.#template();
    else if (char === "{" || char === "}") this.#brace(char);
    else this.#at++;
  }

  #slash(): void {
    const start = this.#at;
    const next = this.#text[start + 1];
    if (next === "/") this.#comment(this.#indexOf("\n", start));
    else if (next === "*") this.#comment(this.#indexOf("*/", start + 2) + 2);
    else if (REGEX_CONTEXT.test(this.#codeBefore(start))) this.#blank(start + 1, this.#endOfRegex(), 1);
    else this.#at++;
  }

  /** Code before the position, without comments: a slash after an operator starts a regular expression. */
  #codeBefore(end: number): string {
    let before = this.#text.slice(Math.max(this.#copied, end - CONTEXT_LENGTH), end);
    for (let part = this.#parts.length - 1; part >= 0 && before.trim() === ""; part--)
      before = this.#parts[part]!.slice(-CONTEXT_LENGTH) + before;
    return before;
  }

  #brace(char: "{" | "}"): void {
    const depth = this.#templates.length - 1;
    this.#at++;
    if (depth < 0) return;
    if (char === "{") this.#templates[depth]!++;
    else if (this.#templates[depth] === 0) {
      this.#templates.pop();
      this.#templateContents();
    } else this.#templates[depth]!--;
  }

  #template(): void {
    this.#at++;
    this.#templateContents();
  }

  #templateContents(): void {
    let end = this.#at;
    while (end < this.#text.length && this.#text[end] !== "`" && !this.#text.startsWith("${", end))
      end += this.#text[end] === "\\" ? 2 : 1;
    const isHole = this.#text[end] === "$";
    this.#blank(this.#at, end, isHole ? 2 : 1);
    if (isHole) this.#templates.push(0);
  }

  #comment(end: number): void {
    this.#comments.push({ start: this.#at, end });
    this.#blank(this.#at, end, 0);
  }

  #blank(start: number, end: number, skip: number): void {
    this.#parts.push(
      this.#text.slice(this.#copied, start),
      this.#text.slice(start, end).replace(/[^\n]/g, " "),
    );
    this.#copied = end;
    this.#at = end + skip;
  }

  #endOfString(quote: string): number {
    let end = this.#at + 1;
    while (end < this.#text.length && this.#text[end] !== quote && this.#text[end] !== "\n")
      end += this.#text[end] === "\\" ? 2 : 1;
    return end;
  }

  #endOfRegex(): number {
    let end = this.#at + 1;
    let isInClass = false;
    while (end < this.#text.length && this.#text[end] !== "\n" && (isInClass || this.#text[end] !== "/")) {
      if (this.#text[end] === "[") isInClass = true;
      else if (this.#text[end] === "]") isInClass = false;
      end += this.#text[end] === "\\" ? 2 : 1;
    }
    return end;
  }

  #indexOf(mark: string, from: number): number {
    const found = this.#text.indexOf(mark, from);
    return found === -1 ? this.#text.length : found;
  }
}

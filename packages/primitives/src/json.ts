// JSON from outside. JSON.parse copes with any depth, but what walks the value afterwards recurses.

/** Deepest nesting that is read. Kubernetes objects stay below 30 levels. */
export const MAX_JSON_LEVELS = 100;

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [34, 92, 91, 93, 123, 125];

export const JSON_LEVELS_RULE = `must be nested at most ${MAX_JSON_LEVELS} levels deep, got more`;

/** Parses JSON from outside. Throws SyntaxError for text that is no JSON or is nested too deeply. */
export function parseJson(text: string): unknown {
  if (isNestedTooDeeply(text)) throw new SyntaxError(`values ${JSON_LEVELS_RULE}`);
  return JSON.parse(text);
}

/** Whether the text nests beyond {@link MAX_JSON_LEVELS}. False for text that ends within a string. */
export function isNestedTooDeeply(text: string): boolean {
  if (!hasManyOpenings(text)) return false;
  let levels = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
      if (at < 0) return false;
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (++levels > MAX_JSON_LEVELS) return true;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) levels--;
  }
  return false;
}

/** Spares most texts the walk: they have fewer brackets than levels are allowed. */
function hasManyOpenings(text: string): boolean {
  let openings = 0;
  for (const bracket of "[{")
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1))
      if (++openings > MAX_JSON_LEVELS) return true;
  return false;
}

/** Index of the quote that ends the string. -1: none does. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
  return -1;
}

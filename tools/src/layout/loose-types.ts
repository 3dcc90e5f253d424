// Counts reads of untyped objects and casts, by pattern.

/** Reads of `object["name"]`, excluding indexed types (`Type["name"]`) and assignments. */
const STRING_INDEX = /([\w$]+|[)\]!])(?:\?\.)?\[["'] *["']\](?!\s*=[^=>])/g;
const CAST = /\bas\s+(?!const\b)[\w$({["'`]/g;
const STATEMENT_WITH_NAMES =
  /^(?:import|export)\s+(?:type\s+)?(?:[\w$]+\s*,\s*)?(?:\{[^}]*\}|\*\s+as\s+[\w$]+)/gm;

export function countStringIndexReads(code: string): number {
  let count = 0;
  for (const match of code.matchAll(STRING_INDEX)) {
    const isType = /^[A-Z](?:[a-z]|$)/.test(match[1]!) && code[match.index - 1] !== ".";
    if (!isType) count++;
  }
  return count;
}

export function countCasts(code: string): number {
  return code.replaceAll(STATEMENT_WITH_NAMES, "").match(CAST)?.length ?? 0;
}

const MAX_CAUSES = 5;

/**
 * The message of an error with those causes that add information: `fetch` only says "fetch failed", and for
 * several addresses only the attempts give reasons.
 */
export function reasonOf(error: unknown): string {
  let text = "";
  let current = error;
  for (let depth = 0; depth <= MAX_CAUSES && current !== undefined && current !== null; depth++) {
    const words = wordsOf(current);
    if (!text.includes(words)) text = text === "" ? words : `${text}: ${words}`;
    current = current instanceof Error ? current.cause : undefined;
  }
  return text;
}

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== "") return error.message;
  const inner: readonly unknown[] = error instanceof AggregateError ? error.errors : [];
  return inner.length === 0 ? error.name : [...new Set(inner.map(wordsOf))].join(", ");
}

/** A system's or library's error code such as ENOENT. Undefined without a text code. */
export function codeOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  return typeof code === "string" ? code : undefined;
}

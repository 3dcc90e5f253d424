const MAX_CAUSES = 5;

/**
 * An error in words, with those of its causes that it doesn't say itself: `fetch` alone says "fetch failed",
 * and of a host with several addresses the cause says nothing either, only each attempt does.
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

/** The code of a system's or library's error, such as ENOENT. Undefined when it has none that is text. */
export function codeOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  return typeof code === "string" ? code : undefined;
}

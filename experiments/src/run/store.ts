// The results' file: a line of JSON per finished cell, appended at once, so that a run that ends early goes
// on where it was.
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";

export interface ResultStore<R extends Hashed> {
  /** By hash. */
  readonly known: ReadonlyMap<string, R>;
  add(result: R): void;
}

interface Hashed {
  /** Of everything that the result depends on. */
  readonly hash: string;
}

export function openStore<R extends Hashed>(file: string): ResultStore<R> {
  mkdirSync(dirname(file), { recursive: true });
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  // A run that was killed leaves half a line; what follows must not be written behind it.
  if (text !== "" && !text.endsWith("\n")) appendFileSync(file, "\n");
  const known = new Map((parseResults(text) as readonly R[]).map((result) => [result.hash, result]));
  return {
    known,
    add(result): void {
      known.set(result.hash, result);
      appendFileSync(file, `${JSON.stringify(result)}\n`);
    },
  };
}

/** Lines that aren't a whole result are left out: their cells are measured again. */
function parseResults(text: string): readonly Hashed[] {
  return text.split("\n").flatMap((line) => {
    try {
      const result = JSON.parse(line) as Partial<Hashed> | null;
      return typeof result?.hash === "string" ? [result as Hashed] : [];
    } catch {
      return [];
    }
  });
}

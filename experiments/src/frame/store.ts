// Results file: one JSON line per result, appended at once, so that an aborted run can continue.
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";

interface ResultStore<R extends Hashed> {
  /** Keyed by hash. */
  readonly known: ReadonlyMap<string, R>;
  add(result: R): void;
}

export interface Hashed {
  readonly hash: string;
}

export function openStore<R extends Hashed>(file: string): ResultStore<R> {
  mkdirSync(dirname(file), { recursive: true });
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  // A killed run may leave a partial line; don't append to it.
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

/** Skips incomplete lines; their results are measured again. */
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

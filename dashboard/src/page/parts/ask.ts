import { useEffect, useState } from "preact/hooks";
import { failureOf, moment, ofMoment, round, type Failure } from "../state/store.ts";
import { getJson, Refused } from "../state/session.ts";

interface Answer<T> {
  readonly data: T | null;
  readonly failure: Failure | null;
  readonly status: number | null;
}

const NOTHING = { data: null, failure: null, status: null } as const;

/**
 * Fetches a path and refetches with each graph. Keeps the old value during reloads and failures.
 * @param path null: nothing
 */
export function useJson<T>(path: string | null, options: { readonly isOfNow?: boolean } = {}): Answer<T> {
  const at = options.isOfNow === true ? "" : moment.value;
  const full = path === null ? null : ofMoment(path, at);
  const [kept, keep] = useState<{ readonly path: string | null; readonly answer: Answer<T> }>({
    path: full,
    answer: NOTHING,
  });
  const ofRound = round.value;
  useEffect(() => {
    if (full === null) return undefined;
    const gone = new AbortController();
    const take = (change: (before: Answer<T>) => Answer<T>): void => {
      if (gone.signal.aborted) return;
      keep((before) => ({ path: full, answer: change(before.path === full ? before.answer : NOTHING) }));
    };
    getJson<T>(full, gone.signal).then(
      (data) => take(() => ({ data, failure: null, status: 200 })),
      (error: unknown) =>
        take(({ data }) => ({
          data,
          failure: failureOf(error),
          status: error instanceof Refused ? error.status : null,
        })),
    );
    return () => gone.abort();
  }, [full, ofRound]);
  return kept.path === full ? kept.answer : NOTHING;
}

import type { Clock } from "./clock.ts";
import { DeadlineError } from "./errors.ts";

/** A symbol, because an error would capture a stack for each work that ends in time. */
const DONE = Symbol("the work is done");

/** Result of `work`, or DeadlineError after `deadlineMs`, which also aborts the signal of `work`. */
export async function withDeadline<T>(
  clock: Clock,
  deadlineMs: number,
  subject: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController();
  const done = new AbortController();
  const timer = clock.sleep(deadlineMs, done.signal).then(
    () => {
      const error = new DeadlineError(subject, deadlineMs);
      deadline.abort(error);
      throw error;
    },
    () => new Promise<never>(() => undefined),
  );
  try {
    return await Promise.race([work(deadline.signal), timer]);
  } finally {
    done.abort(DONE);
  }
}

import type { Clock } from "./clock.ts";
import { DeadlineError } from "./errors.ts";

/** Not an error: one is made with its stack for each work that ends in time. */
const DONE = Symbol("the work is done");

/** What `work` gives, or DeadlineError after `deadlineMs`. The signal that `work` gets is aborted then. */
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
    // aborted because the work is done: nobody looks at this side of the race any more
    () => new Promise<never>(() => undefined),
  );
  try {
    return await Promise.race([work(deadline.signal), timer]);
  } finally {
    done.abort(DONE);
  }
}

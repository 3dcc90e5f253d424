import type { EndToEnd } from "@isochrone/lab";
import { samplesForPercentile } from "@isochrone/primitives";

const MIN_ANSWERED = samplesForPercentile(0.95);

const MAX_FAILED_SHARE = 0.1;

/**
 * Requests that leave so late, as a share of their median time, say more of this machine than of the
 * placement.
 */
const MAX_LATE_SHARE = 0.2;

/** Whether enough requests were answered to compare what they took. */
export const isAnswered = ({ count, errors }: EndToEnd): boolean =>
  count >= MIN_ANSWERED && errors <= MAX_FAILED_SHARE * (count + errors);

/** Why the figures say little about the placement; null: they do. */
export function doubtOf(endToEnd: EndToEnd, wasBusy: boolean): string | null {
  const { count, errors, failure, p50Ms, sendLateMs } = endToEnd;
  const of = failure === null ? "" : `: ${failure}`;
  const busy = wasBusy ? "; the machine was busy" : "";
  if (count === 0 && errors > 0) return `none of ${errors} requests was answered${of}${busy}`;
  if (count < MIN_ANSWERED) return `only ${count} requests were answered, ${errors} failed${of}${busy}`;
  if (!isAnswered(endToEnd)) return `${errors} of ${count + errors} requests failed${of}${busy}`;
  if (sendLateMs !== null && p50Ms !== null && sendLateMs > MAX_LATE_SHARE * p50Ms)
    return `requests left ${Math.round(sendLateMs)} ms late: the machine was busy`;
  return wasBusy ? "the machine was busy" : null;
}

import type { EndToEnd, RangeMs } from "@isochrone/lab";
import { samplesForPercentile } from "@isochrone/primitives";

/** `spread`: without the network; `score`: pod by pod; `plan`: as a whole; `live`: continuous moves. */
export const ACTS = ["spread", "score", "plan", "live"] as const;
export type Act = (typeof ACTS)[number];
export type PlacingAct = Exclude<Act, "live">;

interface ActFigures {
  readonly endToEnd: EndToEnd;
  /** Sum of the round trips of all calls per request; null: unknown. */
  readonly networkMsPerRequest: number | null;
  readonly networkRangeMs: RangeMs | null;
  /** Why the figures are approximate; null: they are not. */
  readonly doubt: string | null;
}

export interface ActResult extends ActFigures {
  readonly act: PlacingAct;
}

/** Why these acts cannot be played; null: they can. */
export function actsMistake(acts: readonly Act[]): string | null {
  const shown = acts.join(" ");
  const [first] = acts;
  if (first !== "spread" && first !== "score") return `--acts must begin with spread or score, got ${shown}`;
  const isOrdered = acts.every((act, at) => at === 0 || ACTS.indexOf(acts[at - 1]!) < ACTS.indexOf(act));
  return isOrdered ? null : `--acts must be in the order ${ACTS.join(" ")}, each once, got ${shown}`;
}

export type Figure = "network" | "p50Ms" | "p95Ms";

/**
 * Bounds of the figure; null: not comparable. A busy machine prolongs requests, the fastest tenth least, so
 * p10 is the lower bound of p50. Its effect on p95 is unknown.
 */
export function rangeOf({ endToEnd, networkRangeMs, doubt }: ActFigures, figure: Figure): RangeMs | null {
  if (figure === "network") return networkRangeMs;
  if (!isAnswered(endToEnd)) return null;
  const { p10Ms, p50RangeMs, p95RangeMs } = endToEnd;
  if (doubt === null) return figure === "p50Ms" ? p50RangeMs : p95RangeMs;
  return figure === "p95Ms" || p50RangeMs === null || p10Ms === null ? null : [p10Ms, p50RangeMs[1]];
}

/** Relative saving of `now` over `first`; null unless it exceeds the errors of both. */
export function savedShare(first: ActFigures, now: ActFigures, figure: Figure): number | null {
  const of = ({ endToEnd, networkMsPerRequest }: ActFigures): number | null =>
    figure === "network" ? networkMsPerRequest : endToEnd[figure];
  if (!isApart(rangeOf(first, figure), rangeOf(now, figure))) return null;
  const [before, after] = [of(first), of(now)];
  return before === null || after === null || before <= 0 ? null : (before - after) / before;
}

const isApart = (a: RangeMs | null, b: RangeMs | null): boolean =>
  a !== null && b !== null && (a[0] > b[1] || b[0] > a[1]);

const MIN_ANSWERED = samplesForPercentile(0.95);

const MAX_FAILED_SHARE = 0.1;

/** Above this lateness relative to the median time, figures reflect the machine, not the placement. */
const MAX_LATE_SHARE = 0.2;

export const isAnswered = ({ count, errors }: EndToEnd): boolean =>
  count >= MIN_ANSWERED && errors <= MAX_FAILED_SHARE * (count + errors);

/** Why the figures are unreliable; null: they are reliable. */
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

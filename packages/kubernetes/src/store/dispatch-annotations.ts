// What the annotations of a Service say of how its requests are spread.

/** Annotations of a Service. */
export const DISPATCH_ANNOTATIONS = {
  /** By what requests are to be spread over zones: advise, hints or istio. */
  dispatch: "isochrone.dev/dispatch",
  /** How long a request may take, such as `250ms`. */
  deadline: "isochrone.dev/deadline",
  /** The least share of a zone's requests that stays in the zone, 0 to 1. */
  minLocalShare: "isochrone.dev/min-local-share",
} as const;

const DURATION = /^(\d+(?:\.\d+)?)(m?)s$/;
/** Longer ones are beyond what latencies are counted to. */
const MAX_DEADLINE_MS = 10_000;

/**
 * The deadline that an annotation sets, milliseconds; null: none, or one that can't be. It must be `1ms` to
 * `10s`.
 */
export function deadlineOf(annotations: Readonly<Record<string, string>> | undefined): number | null {
  const [, number, milli] = DURATION.exec(annotations?.[DISPATCH_ANNOTATIONS.deadline] ?? "") ?? [];
  if (number === undefined) return null;
  const deadlineMs = Number(number) * (milli === "m" ? 1 : 1000);
  return deadlineMs >= 1 && deadlineMs <= MAX_DEADLINE_MS ? deadlineMs : null;
}

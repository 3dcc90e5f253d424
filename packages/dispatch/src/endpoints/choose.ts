// Which endpoint gets a request: `deadline` as in policies/deadline.ts, for endpoints of which neither
// replicas nor CPU are known; and the least loaded of two.
import type { Draw } from "@isochrone/primitives";
import type { EndpointLoad } from "./endpoint-load.ts";

export interface Candidate {
  readonly load: EndpointLoad;
  /** Milliseconds; 0 where nobody knows any. */
  readonly roundTripMs: number;
  /** Whether it stands in another zone. */
  readonly isFar: boolean;
}

/** What is asked for. */
export interface Ask {
  /** Until the deadline; null: there is none. */
  readonly leftMs: number | null;
  /** How long such a request takes without waiting. */
  readonly workMs: number;
  /** Monotonic. */
  readonly nowMs: number;
}

export interface EndpointChoice<C extends Candidate> {
  readonly endpoint: C;
  /** Probability to be in time; null: it was not weighed. */
  readonly inTime: number | null;
  readonly waitMs: number;
}

/** Without a deadline, a request is late after so many times of its work. */
export const LATE_WITHOUT_DEADLINE = 3;
/** Slope of the probability at no slack. */
const STEEPNESS = 6;
/**
 * Waiting and the way, in times of the work, cost x / (x + this): 0.02 each at first, since others wait
 * behind it. All of it costs less than an answer that fails, or endpoints that fail at once would get what
 * busy ones are spared.
 */
const TIME_SCALE = 50;
/** Of leaving the zone. */
const FAR_PRICE = 0.01;
/** Of being as full as usual: between equals, the emptier one. */
const FULLNESS_PRICE = 0.002;
const TIE = 1e-3;

/**
 * Where nobody is likelier than this to be in time, the greatest value is a guess, and all who have the same
 * news would send there what can't be in time anyway: then it is the least loaded of two.
 */
const EVEN_CHANCE = 0.5;

/** The greatest value wins; nearly equal ones win at random, so that many dispatchers don't herd. */
export function byDeadline<C extends Candidate>(
  candidates: readonly C[],
  ask: Ask,
  draw: Draw,
): EndpointChoice<C> | null {
  const { leftMs, workMs, nowMs } = ask;
  const mostMs = leftMs ?? LATE_WITHOUT_DEADLINE * workMs;
  let best: EndpointChoice<C> | null = null;
  let most = Number.NEGATIVE_INFINITY;
  let bestChance = 0;
  for (const endpoint of candidates) {
    const { load, roundTripMs, isFar } = endpoint;
    const waitMs = load.waitMs(workMs, nowMs);
    const slack = mostMs - roundTripMs - waitMs - workMs;
    const inTime = 1 / (1 + Math.exp((-STEEPNESS * slack) / (workMs + waitMs)));
    const failing = load.failureShare(nowMs);
    const times = (waitMs + roundTripMs) / workMs;
    bestChance = Math.max(bestChance, inTime * (1 - failing));
    const value =
      inTime * (1 - failing) -
      failing -
      times / (times + TIME_SCALE) -
      (isFar ? FAR_PRICE : 0) -
      FULLNESS_PRICE * load.fullness() +
      draw() * TIE;
    if (value <= most) continue;
    most = value;
    best = { endpoint, inTime, waitMs };
  }
  if (bestChance >= EVEN_CHANCE) return best;
  // Those that are too far away for any request stay out.
  const near = candidates.filter(({ roundTripMs }) => roundTripMs + workMs <= mostMs);
  return byLeastRequest(near, ask, draw) ?? best;
}

/** A share of failures of 1 makes an endpoint as busy as so many times its requests. */
const MOST_PENALTY = 100;

/** Of two at random, the one with fewer own requests; failures count as load. */
export function byLeastRequest<C extends Candidate>(
  candidates: readonly C[],
  { workMs, nowMs }: Ask,
  draw: Draw,
): EndpointChoice<C> | null {
  const count = candidates.length;
  if (count === 0) return null;
  const first = Math.floor(draw() * count);
  const second = count === 1 ? first : (first + 1 + Math.floor(draw() * (count - 1))) % count;
  const [a, b] = [candidates[first]!, candidates[second]!];
  const endpoint = busyness(a, nowMs) <= busyness(b, nowMs) ? a : b;
  return { endpoint, inTime: null, waitMs: endpoint.load.waitMs(workMs, nowMs) };
}

function busyness({ load }: Candidate, nowMs: number): number {
  return (load.inFlight + 1) / Math.max(1 / MOST_PENALTY, 1 - load.failureShare(nowMs));
}

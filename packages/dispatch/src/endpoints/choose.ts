// Chooses an endpoint: `deadline` as in policies/deadline.ts without knowledge of replicas and CPU, and least
// request of two.
import type { Draw } from "@isochrone/primitives";
import type { EndpointLoad } from "./endpoint-load.ts";

export interface Candidate {
  readonly load: EndpointLoad;
  /** Milliseconds; 0 if unknown. */
  readonly roundTripMs: number;
  readonly isFar: boolean;
}

export interface Ask {
  /** Time until the deadline; null without one. */
  readonly leftMs: number | null;
  readonly workMs: number;
  readonly nowMs: number;
}

export interface EndpointChoice<C extends Candidate> {
  readonly endpoint: C;
  /** Probability of being in time; null if not weighed. */
  readonly inTime: number | null;
  readonly waitMs: number;
}

/** Without a deadline, a request is late after this multiple of its work. */
export const LATE_WITHOUT_DEADLINE = 3;
const STEEPNESS = 6;
/**
 * Price of waiting and round trip, in multiples of work: x / (x + this), initially 0.02 each. The total stays
 * below the price of a failure, or endpoints that fail at once would attract requests.
 */
const TIME_SCALE = 50;
const FAR_PRICE = 0.01;
/** Price of typical fullness: breaks ties towards the emptier one. */
const FULLNESS_PRICE = 0.002;
const TIE = 1e-3;

/** Below this chance all dispatchers would share the same guess, so use the least loaded of two. */
const EVEN_CHANCE = 0.5;

/** The greatest value wins, near ties at random, so that many dispatchers don't herd. */
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
  const near = candidates.filter(({ roundTripMs }) => roundTripMs + workMs <= mostMs);
  return byLeastRequest(near, ask, draw) ?? best;
}

const MOST_PENALTY = 100;

/** The better of two random endpoints by own requests; failures count as load. */
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

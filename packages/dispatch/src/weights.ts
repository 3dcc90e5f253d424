// Weights of a service's targets for each calling site: near ones first, others when those are full, the
// cloud last. They are worked out from rates alone and need no knowledge of the moment.
import { median } from "@isochrone/primitives";
import { DispatchError } from "./errors.ts";
import { shareInTime } from "./queueing.ts";

/** What serves a service at one place: in Kubernetes the ready endpoints of a zone. */
interface WeightTarget {
  readonly site: string;
  /** Requests per second that it serves without long waits; see `capacityPerSecond`. */
  readonly capacityPerSecond: number;
}

export interface WeightsInput {
  /** Requests per second by calling site; a site without requests gets weights too. */
  readonly demand: ReadonlyMap<string, number>;
  readonly targets: readonly WeightTarget[];
  /** Requests per second that a calling site may send to the cloud. @default none */
  readonly cloud?: ReadonlyMap<string, number>;
  /** Round trip between two sites; null where it is unknown. @default all unknown */
  readonly rttSeconds?: (from: string, to: string) => number | null;
}

/** Where the requests of one calling site should go. */
export interface SiteWeights {
  readonly site: string;
  /**
   * Part of the requests for each target, in the order of the targets. With `cloud` they add up to 1; all
   * are 0 where nothing has capacity.
   */
  readonly shares: readonly number[];
  readonly cloud: number;
  /** Part of the requests that stays in the site. */
  readonly local: number;
  /** Requests per second above all capacity; they are in the shares, in proportion to capacity. */
  readonly abovePerSecond: number;
}

interface Weights {
  /** In the order of the demand. */
  readonly sites: readonly SiteWeights[];
  /** Requests per second that each target could take besides; in the order of the targets. */
  readonly headroomPerSecond: readonly number[];
}

/** Highest load of an endpoint at which so many requests are in time. */
const IN_TIME = 0.93;
/** How long a request may wait, in times of its work. */
const SLACK = 1.3;
/** An endpoint that serves one request at a time is never in time at this rate, yet it isn't useless. */
const LEAST_UTILIZATION = 0.3;
const CAPACITY_STEPS = 30;
/** Sites whose round trip is at most so many times that of the nearest one are equally near. */
const EQUALLY_NEAR = 1.5;
const NOTHING = 1e-9;

/**
 * Requests per second that an endpoint serves with 93 % of them in time.
 * @param slots requests that it serves at once
 * @param workSeconds mean time of a request without waiting
 */
export function capacityPerSecond(slots: number, workSeconds: number): number {
  if (!(slots >= 0 && slots < Number.POSITIVE_INFINITY))
    throw new DispatchError("invalid_capacity", "slots of an endpoint", "must be a number from 0", slots);
  if (!(workSeconds > 0 && workSeconds < Number.POSITIVE_INFINITY))
    throw new DispatchError("invalid_work", "workSeconds", "must be a number above 0", workSeconds);
  let [low, high] = [0, 1];
  for (let step = 0; step < CAPACITY_STEPS; step++) {
    const middle = (low + high) / 2;
    const isInTime =
      shareInTime(slots, (middle * slots) / workSeconds, workSeconds, SLACK * workSeconds) >= IN_TIME;
    if (isInTime) low = middle;
    else high = middle;
  }
  return (Math.max(low, LEAST_UTILIZATION) * slots) / workSeconds;
}

/**
 * Fills each calling site's own targets first, then the nearest other ones in proportion to what is left of
 * them, then the cloud. Sites share what is left in proportion to what they need.
 */
export function weightsOf(input: WeightsInput): Weights {
  check(input);
  const { demand, targets, cloud } = input;
  const callers = [...demand].map(([site, perSecond]) => ({
    site,
    need: perSecond,
    flows: new Float64Array(targets.length),
    distances: distancesFrom(site, input),
  }));
  const left = Float64Array.from(targets, (target) => target.capacityPerSecond);
  fill(callers, left, ({ distances }) => distances.map((distance) => distance === 0));
  fill(callers, left, ({ distances }) => nearest(distances, left));
  const sites = callers.map((caller) => {
    const toCloud = Math.min(caller.need, cloud?.get(caller.site) ?? 0);
    return finished(caller, toCloud, demand.get(caller.site)!, targets);
  });
  return { sites, headroomPerSecond: [...left] };
}

interface Caller {
  readonly site: string;
  need: number;
  readonly flows: Float64Array;
  /** Of the targets; 0 is the own site. */
  readonly distances: readonly number[];
}

function check({ demand, targets, cloud }: WeightsInput): void {
  const isRate = (value: number): boolean => value >= 0 && value < Number.POSITIVE_INFINITY;
  for (const [site, perSecond] of [...demand, ...(cloud ?? [])])
    if (!isRate(perSecond))
      throw new DispatchError("invalid_demand", `rate of ${site}`, "must be a number from 0", perSecond);
  for (const { site, capacityPerSecond } of targets)
    if (!isRate(capacityPerSecond))
      throw new DispatchError(
        "invalid_capacity",
        `capacity of ${site}`,
        "must be a number from 0",
        capacityPerSecond,
      );
}

/** Unknown round trips count as the median of the known ones. */
function distancesFrom(site: string, { targets, rttSeconds }: WeightsInput): number[] {
  const rtts = targets.map((target) =>
    target.site === site ? 0 : (rttSeconds?.(site, target.site) ?? null),
  );
  const known = rtts.flatMap((rtt) => (rtt !== null && rtt > 0 ? [rtt] : []));
  const unknown = median(known) ?? 1;
  return rtts.map((rtt, at) => {
    if (targets[at]!.site === site) return 0;
    return rtt !== null && rtt > 0 ? rtt : unknown;
  });
}

/** Marks the nearest targets that have something left, and those that are about as near. */
function nearest(distances: readonly number[], left: Float64Array): boolean[] {
  let least = Number.POSITIVE_INFINITY;
  for (const [at, distance] of distances.entries())
    if (left[at]! > NOTHING && distance < least) least = distance;
  return distances.map((distance) => distance <= least * EQUALLY_NEAR);
}

/**
 * Rounds in which each caller spreads its need over the marked targets in proportion to what is left. A round
 * meets all needs or fills at least one target, so there are at most as many rounds as targets, and one more.
 */
function fill(callers: readonly Caller[], left: Float64Array, mark: (caller: Caller) => boolean[]): void {
  for (let round = 0; round <= left.length; round++) {
    const asked = callers.map((caller) => spread(caller.need, left, mark(caller)));
    const inflow = new Float64Array(left.length);
    for (const flows of asked) for (const [at, flow] of flows.entries()) inflow[at]! += flow;
    if (inflow.every((flow) => flow <= NOTHING)) return;
    const given = inflow.map((flow, at) => (flow > left[at]! ? left[at]! / flow : 1));
    for (const [index, caller] of callers.entries())
      for (const [at, flow] of asked[index]!.entries()) {
        const granted = flow * given[at]!;
        caller.flows[at]! += granted;
        caller.need = Math.max(0, caller.need - granted);
      }
    for (const [at, flow] of inflow.entries()) left[at] = Math.max(0, left[at]! - flow);
  }
}

function spread(need: number, left: Float64Array, marked: readonly boolean[]): Float64Array {
  const open = left.map((rest, at) => (marked[at] === true ? rest : 0));
  return inProportion(need <= NOTHING ? 0 : need, open);
}

/** Nothing where there is nothing to be in proportion to. */
function inProportion(amount: number, parts: Float64Array): Float64Array {
  const total = parts.reduce((sum, part) => sum + part, 0);
  return parts.map((part) => (total <= NOTHING ? 0 : (amount * part) / total));
}

function finished(
  { site, need, flows, distances }: Caller,
  toCloud: number,
  demand: number,
  targets: readonly WeightTarget[],
): SiteWeights {
  const above = Math.max(0, need - toCloud);
  const capacities = Float64Array.from(targets, (target) => target.capacityPerSecond);
  const more = inProportion(above, capacities);
  const all = flows.map((flow, at) => flow + more[at]!);
  // A site that sends nothing yet should begin at its own targets, else at the nearest ones.
  const isNear = nearest(distances, capacities);
  const amounts =
    demand > NOTHING ? all : capacities.map((capacity, at) => (isNear[at] === true ? capacity : 0));
  const total = amounts.reduce((sum, amount) => sum + amount, toCloud);
  const shares = [...amounts].map((amount) => (total > 0 ? amount / total : 0));
  return {
    site,
    shares,
    cloud: total > 0 ? toCloud / total : 0,
    local: shares.reduce((sum, share, at) => sum + (targets[at]!.site === site ? share : 0), 0),
    abovePerSecond: above,
  };
}

// Weights of a service's targets per calling site: nearest first, others when those are full, the cloud last.
// Computed from rates alone.
import { median } from "@isochrone/primitives";
import { DispatchError } from "./errors.ts";
import { shareInTime } from "./queueing.ts";

interface WeightTarget {
  readonly site: string;
  readonly capacityPerSecond: number;
}

export interface WeightsInput {
  /** Requests/s by calling site; a site without requests also gets weights. */
  readonly demand: ReadonlyMap<string, number>;
  readonly targets: readonly WeightTarget[];
  /** Requests/s that a calling site may send to the cloud. @default none */
  readonly cloud?: ReadonlyMap<string, number>;
  /** Null if unknown. @default all unknown */
  readonly rttSeconds?: (from: string, to: string) => number | null;
}

export interface SiteWeights {
  readonly site: string;
  /** Share of requests by target. Sums up to 1 with `cloud`; all 0 without any capacity. */
  readonly shares: readonly number[];
  readonly cloud: number;
  readonly local: number;
  /** Requests/s above total capacity; they are distributed in proportion to capacity. */
  readonly abovePerSecond: number;
}

interface Weights {
  readonly sites: readonly SiteWeights[];
  readonly headroomPerSecond: readonly number[];
}

const IN_TIME = 0.93;
const SLACK = 1.3;
/** Utilization of an endpoint that serves one request at a time and so never meets the target. */
const LEAST_UTILIZATION = 0.3;
const CAPACITY_STEPS = 30;
const EQUALLY_NEAR = 1.5;
const NOTHING = 1e-9;

/** Requests/s of an endpoint with `slots` concurrent requests at which 93 % are in time. */
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
 * Fills each site's own targets, then the nearest others in proportion to their remaining capacity, then the
 * cloud. Sites share capacity in proportion to their needs.
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

/** Unknown round trips count as the median of known ones. */
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

function nearest(distances: readonly number[], left: Float64Array): boolean[] {
  let least = Number.POSITIVE_INFINITY;
  for (const [at, distance] of distances.entries())
    if (left[at]! > NOTHING && distance < least) least = distance;
  return distances.map((distance) => distance <= least * EQUALLY_NEAR);
}

/**
 * Each caller spreads its need over marked targets in proportion to remaining capacity, round by round. A
 * round meets all needs or fills a target, so there are at most targets + 1 rounds.
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

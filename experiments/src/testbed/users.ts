// Users and timeouts, equal in model and lab. Milliseconds of the point's time.
import { seededRandom } from "@isochrone/runtime";
import type { PointLoad } from "../scenario/model.ts";

/** Longer calls between workloads fail, as in the sidecars. */
export const CALL_TIMEOUT_MS = 5_000;
/** Timeout of a user request. */
export const REQUEST_TIMEOUT_MS = 10_000;
/** Maximum pending user requests; further ones fail at once, like with finite sockets. */
export const MAX_PENDING = 4_000;

export const periodMs = (load: PointLoad): number => 1000 / load.requestsPerSecondPerUser;

/** Send times in each period, sorted; equal for both testbeds and all contenders. */
export function phasesMs(load: PointLoad, seed: number): Float64Array {
  const random = seededRandom(seed);
  const period = periodMs(load);
  return Float64Array.from({ length: load.users }, () => random.next() * period).sort();
}

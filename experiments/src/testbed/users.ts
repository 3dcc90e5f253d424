// Users and their patience, alike in the model and in the lab. Milliseconds of the point's own time.
import { seededRandom } from "@isochrone/runtime";
import type { PointLoad } from "../scenario/model.ts";

/** A call between workloads that takes longer fails, as the sidecars have it. */
export const CALL_TIMEOUT_MS = 5_000;
/** A user gives up. */
export const REQUEST_TIMEOUT_MS = 10_000;
/** Unanswered requests of all users together; further ones fail at once: sockets are finite. */
export const MAX_PENDING = 4_000;

/** Milliseconds between two requests of a user. */
export const periodMs = (load: PointLoad): number => 1000 / load.requestsPerSecondPerUser;

/** When in each period users send, in order: the same for both grounds and for all contenders. */
export function phasesMs(load: PointLoad, seed: number): Float64Array {
  const random = seededRandom(seed);
  const period = periodMs(load);
  return Float64Array.from({ length: load.users }, () => random.next() * period).sort();
}

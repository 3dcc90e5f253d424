import { seededRandom } from "@isochrone/runtime";
import type { PointLoad } from "../scenario/model.ts";

/** Milliseconds between two requests of a user. */
export const periodMs = (load: PointLoad): number => 1000 / load.requestsPerSecondPerUser;

/** When in each period users send, in order: the same for both grounds and for all contenders. */
export function phasesMs(load: PointLoad, seed: number): Float64Array {
  const random = seededRandom(seed);
  const period = periodMs(load);
  return Float64Array.from({ length: load.users }, () => random.next() * period).sort();
}

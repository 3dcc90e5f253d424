// How many requests of drawn systems are in time, by who chooses.
import type { Candidate } from "@isochrone/dispatch/endpoints";
import { seeded, type Draw } from "@isochrone/primitives";
import { drawnSystem, runEndpoints, type Chooser, type EndpointSystem } from "./endpoint-system.ts";

/** What a policy draws from, and what the requests are, has nothing to do with how the systems were drawn. */
const CHANCE_SEEDS = 10_000_000;
const REQUEST_SEEDS = 20_000_000;

type Choose = (
  candidates: readonly Candidate[],
  ask: Parameters<Chooser["choose"]>[1],
  draw: Draw,
) => { readonly endpoint: Candidate };

interface Systems {
  readonly seed: number;
  readonly systems: number;
  readonly requests: number;
  /** @default the system as it was drawn */
  readonly as?: (system: EndpointSystem) => EndpointSystem;
}

/** Mean over drawn systems, which are the same for all who choose. */
export function shareInTime(
  choose: Choose,
  { seed, systems, requests, as = (same) => same }: Systems,
): number {
  let sum = 0;
  for (let at = 0; at < systems; at++) {
    const chance = seeded(seed + at + CHANCE_SEEDS);
    const chooser: Chooser = {
      choose: (candidates, ask) => ({
        at: candidates.indexOf(choose(candidates, ask, chance).endpoint),
        settle: () => undefined,
      }),
    };
    sum += runEndpoints(
      as(drawnSystem(seeded(seed + at))),
      requests,
      chooser,
      seeded(seed + at + REQUEST_SEEDS),
    ).inTime;
  }
  return sum / systems;
}

import type { Candidate } from "@isochrone/dispatch/endpoints";
import { seeded, type Draw } from "@isochrone/primitives";
import { drawnSystem, runEndpoints, type Chooser, type EndpointSystem } from "./endpoint-system.ts";

/** Seeds of policies and requests, independent of the seeds of systems. */
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
  /** Modifies the drawn system. @default unchanged */
  readonly as?: (system: EndpointSystem) => EndpointSystem;
}

/** Mean over drawn systems, the same for all policies. */
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

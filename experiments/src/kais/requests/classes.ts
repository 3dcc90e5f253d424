// The 29 most frequent task classes of a trace, and one for the rest, as services.
import { seeded } from "@isochrone/primitives";
import type { ServiceProfile } from "@isochrone/dispatch";

export interface TaskClass {
  readonly share: number;
  /** 100 is one core. */
  readonly planCpu: number;
  /** Percent of a machine. */
  readonly planMemory: number;
}

export const SERVICES = 30;
const PROFILE_SEED = 20_260_101;

/** Values that the trace lacks: work, payload and image, log-uniform. Equal seeds give equal values. */
export function profilesOf(classes: readonly TaskClass[]): ServiceProfile[] {
  const draw = seeded(PROFILE_SEED);
  const between = (low: number, high: number): number => low * (high / low) ** draw();
  return classes.map(({ planCpu, planMemory }) => ({
    cores: clamp(planCpu / 100, 0.1, 1),
    memoryGb: clamp(2 * planMemory, 0.25, 2),
    workSeconds: between(0.8, 3),
    payloadMb: between(0.1, 2),
    imageMb: between(50, 300),
  }));
}

export function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

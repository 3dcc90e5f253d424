import type { CoordinateState } from "@isochrone/topology/coordinates";
import type { FitInput } from "./domain/coordinate-samples.ts";

/** To the thread: fit these samples. */
export interface FitRequest {
  readonly id: number;
  readonly input: FitInput;
  readonly seed: number;
  /** Where to start from, if the thread has no fit of its own: it is a new one. */
  readonly previous: CoordinateState | null;
}

/** From the thread. */
export type FitAnswer =
  | { readonly id: number; readonly state: CoordinateState; readonly durationMs: number }
  | { readonly id: number; readonly failure: string };

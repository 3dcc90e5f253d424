import type { CoordinateState } from "@isochrone/topology/coordinates";
import type { FitInput } from "./domain/coordinate-samples.ts";

export interface FitRequest {
  readonly id: number;
  readonly input: FitInput;
  readonly seed: number;
  /** Starting point for a new thread, which has no fit of its own. */
  readonly previous: CoordinateState | null;
}

export type FitAnswer =
  | { readonly id: number; readonly state: CoordinateState; readonly durationMs: number }
  | { readonly id: number; readonly failure: string };

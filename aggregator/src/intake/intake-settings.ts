import { derived } from "@isochrone/runtime";

/** How the bus is read. */
export const INTAKE_SETTINGS = {
  counterHorizonMs: derived(
    ({ counterLagMs }: { readonly counterLagMs: number }) => 3 * counterLagMs,
    "It is three times aggregator.counterLagMs.",
  ),
};

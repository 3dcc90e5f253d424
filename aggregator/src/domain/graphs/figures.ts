import { figureOrNull } from "@isochrone/topology";

/**
 * Last check before publication: shows a value that violates the graph's schema as unknown, and counts it.
 * Ingest refuses such values, so a count above 0 is a bug.
 */
export class Figures {
  #dropped = 0;

  get dropped(): number {
    return this.#dropped;
  }

  /** Returns the value if it is within 0 and `max`; null if it is unknown or invalid. */
  of(value: number | null, max?: number): number | null {
    if (value === null) return null;
    const figure = figureOrNull(value, max);
    if (figure === null) this.#dropped++;
    return figure;
  }
}

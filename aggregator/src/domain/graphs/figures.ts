import { figureOrNull } from "@isochrone/topology";

/**
 * The last guard before a graph: whatever the windows hold, a figure that the graph's schema would refuse is
 * shown as unknown, and counted. Ingest refuses such values before, so that a count above 0 is a fault of
 * this program.
 */
export class Figures {
  #dropped = 0;

  /** Figures that were shown as unknown. Only grows. */
  get dropped(): number {
    return this.#dropped;
  }

  /** The figure, from 0 to `max`; null when it isn't known, or can't be. */
  of(value: number | null, max?: number): number | null {
    if (value === null) return null;
    const figure = figureOrNull(value, max);
    if (figure === null) this.#dropped++;
    return figure;
  }
}

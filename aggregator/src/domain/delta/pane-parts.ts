import type { PaneSums } from "@isochrone/telemetry";

/** What was added to one pane. */
export interface PanePart {
  readonly paneStartMs: number;
  part: number;
}

const NOTHING: PanePart[] = [];

/** Sums by pane, of as many panes as were touched: a few. */
export class PaneParts implements PaneSums {
  #parts: PanePart[] = NOTHING;

  get parts(): readonly PanePart[] {
    return this.#parts;
  }

  /** The parts, which are not kept any longer. */
  drain(): readonly PanePart[] {
    const parts = this.#parts;
    this.#parts = NOTHING;
    return parts;
  }

  add(paneStartMs: number, part: number): void {
    if (part === 0) return;
    const parts = this.#parts;
    for (let i = parts.length - 1; i >= 0; i--) {
      const known = parts[i]!;
      if (known.paneStartMs !== paneStartMs) continue;
      known.part += part;
      return;
    }
    if (parts.length === 0) this.#parts = [{ paneStartMs, part }];
    else parts.push({ paneStartMs, part });
  }
}

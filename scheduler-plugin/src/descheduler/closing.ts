import { isOpen, parseMaintenanceWindow } from "@isochrone/placement";
import type { Halt, MaintenanceWindow } from "@isochrone/placement";

export class Closing {
  readonly #windows: readonly MaintenanceWindow[];
  readonly #texts: readonly string[];

  constructor({ windows }: { readonly windows: readonly string[] }) {
    this.#texts = windows;
    this.#windows = windows.map(parseMaintenanceWindow);
  }

  at(nowMs: number): Halt | null {
    return isOpen(this.#windows, nowMs)
      ? null
      : { reason: "maintenance", detail: `no maintenance window is open: ${this.#texts.join(", ")} (UTC)` };
  }
}

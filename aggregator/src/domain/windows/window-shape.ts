export interface WindowShape {
  readonly windowMs: number;
  readonly paneMs: number;
  readonly panes: number;
  /** Number of panes of the fast window, which alerts use. */
  readonly fastPanes: number;
  /** Maximum lag between an entity's counters, because scrapes are staggered. @default 0 */
  readonly counterLagMs?: number;
}

export type WindowName = "full" | "fast";

export function panesOf(shape: WindowShape, name: WindowName): number {
  return name === "fast" ? Math.min(shape.fastPanes, shape.panes) : shape.panes;
}

/** Start of the window that ends with the pane of `nowMs`. */
export function windowStartMs(shape: WindowShape, nowMs: number, panes: number = shape.panes): number {
  return (Math.floor(nowMs / shape.paneMs) - panes + 1) * shape.paneMs;
}

/** How all windows of an aggregator are cut. */
export interface WindowShape {
  readonly windowMs: number;
  readonly paneMs: number;
  /** How many panes a window has. */
  readonly panes: number;
  /** How many panes the fast window has, for alerts. */
  readonly fastPanes: number;
  /**
   * How far the counters of one thing may lag behind each other, because each is scraped in its own turn:
   * what is summed over many is read up to where all of them have spoken. @default 0
   */
  readonly counterLagMs?: number;
}

/** Which window a reader wants. */
export type WindowName = "full" | "fast";

/** Panes of the window of that name. */
export function panesOf(shape: WindowShape, name: WindowName): number {
  return name === "fast" ? Math.min(shape.fastPanes, shape.panes) : shape.panes;
}

/** Where the window that ends with the pane of `nowMs` begins. */
export function windowStartMs(shape: WindowShape, nowMs: number, panes: number = shape.panes): number {
  return (Math.floor(nowMs / shape.paneMs) - panes + 1) * shape.paneMs;
}

export const PATTERNS = ["P1", "P2", "P3", "P4"] as const;

export interface SystemSettings {
  readonly sites: number;
  /** Nodes per site; several numbers repeat in turn. */
  readonly nodesPerSite: readonly number[];
  /** An access point dispatches one request per slot; null: on arrival. */
  readonly slotSeconds: number | null;
  readonly frameSeconds: number;
  readonly ownMs: number;
  readonly otherMs: number;
  readonly cloudMs: number;
  readonly uplinkMegabits: number;
  /** Interval at which other sites' load is updated. */
  readonly gossipSeconds: number;
  readonly perSecond: number;
  readonly pattern: (typeof PATTERNS)[number];
  readonly seconds: number;
  /** Factor on the work of all services. */
  readonly workScale: number;
  /** Share of requests that reach the first site; 0: equal shares. */
  readonly hotShare: number;
}

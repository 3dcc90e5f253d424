export const PATTERNS = ["P1", "P2", "P3", "P4"] as const;

/** The system and its requests. */
export interface SystemSettings {
  /** Access points, each with its nodes. */
  readonly sites: number;
  /** Nodes of each site; of several numbers, one after the other. */
  readonly nodesPerSite: readonly number[];
  /** An access point dispatches one request in a slot; null: each request when it arrives. */
  readonly slotSeconds: number | null;
  readonly frameSeconds: number;
  readonly ownMs: number;
  readonly otherMs: number;
  readonly cloudMs: number;
  readonly uplinkMegabits: number;
  /** How often other sites' load is seen. */
  readonly gossipSeconds: number;
  readonly perSecond: number;
  readonly pattern: (typeof PATTERNS)[number];
  readonly seconds: number;
  /** Factor of all services' work. */
  readonly workScale: number;
  /** Part of the requests that reach the first site; 0: all sites have equal parts. */
  readonly hotShare: number;
}

/**
 * When a point was taken, on its source's clock and on ours. One object per ingest is reused: read it during
 * the call only.
 */
export interface PointTime {
  /** On the source's clock; 0 where unknown. */
  readonly startMs: number;
  /** On the source's clock. */
  readonly timeMs: number;
  /** On the aggregator's clock: timeMs + offsetMs. */
  readonly eventMs: number;
  /** What the source's clock lacks: arrival - sent-at. */
  readonly offsetMs: number;
  /** Grows with each step of the source's clock. */
  readonly clockGeneration: number;
  /** Grows each time the source restarts. @default 0 */
  readonly life?: number;
  /** The aggregator's time. */
  readonly nowMs: number;
}

/** Times of a point. One object per ingest is reused, so read it during the call only. */
export interface PointTime {
  /** On the source's clock; 0: unknown. */
  readonly startMs: number;
  readonly timeMs: number;
  /** On the aggregator's clock: timeMs + offsetMs. */
  readonly eventMs: number;
  /** Offset of the source's clock: arrival minus send time. */
  readonly offsetMs: number;
  /** Increases with each step of the source's clock. */
  readonly clockGeneration: number;
  /** Increases with each restart of the source. @default 0 */
  readonly life?: number;
  readonly nowMs: number;
}

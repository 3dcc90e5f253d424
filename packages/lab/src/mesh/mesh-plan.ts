/** A full-duplex link; each direction has the capacity. */
export interface MeshLink {
  readonly a: number;
  readonly b: number;
  /** TCP payload in large segments, without headers and acknowledgements. */
  readonly bitsPerSecond: number;
}

export interface MeshFlow {
  /** At its target; unique per flow. */
  readonly port: number;
  readonly path: readonly number[];
  /** Payload; null: uses remaining capacity. */
  readonly bitsPerSecond: number | null;
  readonly bytesPerFrame: number;
}

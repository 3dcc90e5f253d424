/** A full-duplex link; each direction has the capacity. */
export interface MeshLink {
  /** Indexes of nodes. */
  readonly a: number;
  readonly b: number;
  /** TCP payload in large segments, without headers and acknowledgements. */
  readonly bitsPerSecond: number;
}

/** A TCP connection with a path and a rate. */
export interface MeshFlow {
  /** At its target; unique per flow. */
  readonly port: number;
  /** Indexes of nodes from source to target. */
  readonly path: readonly number[];
  /** Payload; null: uses remaining capacity. */
  readonly bitsPerSecond: number | null;
  readonly bytesPerFrame: number;
}

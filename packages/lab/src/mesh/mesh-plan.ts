/** A cable between two nodes; each direction has the capacity. */
export interface MeshLink {
  /** Indexes of nodes. */
  readonly a: number;
  readonly b: number;
  /** Payload of TCP in large segments; headers and acknowledgements come on top. */
  readonly bitsPerSecond: number;
}

/** A TCP connection that the mesh gives a path and a rate. */
export interface MeshFlow {
  /** At its target; each flow has its own. */
  readonly port: number;
  /** Indexes of nodes from its source to its target. */
  readonly path: readonly number[];
  /** Of payload; null: it has what the others leave. */
  readonly bitsPerSecond: number | null;
  readonly bytesPerFrame: number;
}

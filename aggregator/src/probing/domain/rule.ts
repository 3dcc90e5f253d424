export interface PlanNode {
  readonly name: string;
  readonly zone: string | null;
  readonly region: string | null;
  /** Ready and not being deleted, so that others probe it. */
  readonly eligible: boolean;
}

export interface PeerRule {
  /** Maximum number of nodes for a full mesh. */
  readonly fullMeshLimit: number;
  /** Number of peers by hash in larger clusters, at least 1. Stable while other nodes come or go. */
  readonly peers: number;
  /** Adds a representative per other zone until this many zones have a peer. */
  readonly maxZones: number;
  /** Interval at which one hashed peer changes, so that every pair is measured in time; 0: never. */
  readonly rotationMs: number;
}

/** Maximum in-degree of a node, as a multiple of `peers`; includes zone representatives. */
export const IN_DEGREE_FACTOR = 3;

/**
 * Bounds a node's in-degree beyond the full mesh. Each circle gives it one *direct* predecessor. Others (a
 * second choice where circles agree, a zone's representative) are *extra*, and counted when assigned.
 *
 *     peers - 1 direct  +  2 rotating  +  2 extra rotating  +  extra  <=  3 x peers
 *
 * Rotating ones count twice, because nodes change windows at different times.
 */
interface DegreeBudget {
  readonly stable: number;
  readonly extra: number;
}

/** Maximum number of extra assignments per node and window among rotating peers. */
export const EXTRA_ROTATING = 1;

export function degreeBudget({ peers, rotationMs }: PeerRule): DegreeBudget {
  const rotates = peers > 1 && rotationMs > 0;
  const stable = rotates ? peers - 1 : peers;
  const rotating = rotates ? 2 * (1 + EXTRA_ROTATING) : 0;
  return { stable, extra: IN_DEGREE_FACTOR * peers - stable - rotating };
}

/** Returns true for a full mesh, also if the rule asks for all other nodes as peers. */
export function isFullMesh(nodes: number, { fullMeshLimit, peers }: PeerRule): boolean {
  return nodes <= Math.max(fullMeshLimit, peers + 1);
}

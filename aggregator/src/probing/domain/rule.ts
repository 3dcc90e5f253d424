/** What a probe plan needs to know of a node. */
export interface PlanNode {
  readonly name: string;
  readonly zone: string | null;
  readonly region: string | null;
  /** Ready and not being deleted: others probe it. */
  readonly eligible: boolean;
}

/** How many peers a node gets. */
export interface PeerRule {
  /** Up to so many nodes everybody probes everybody. */
  readonly fullMeshLimit: number;
  /**
   * Beyond it: so many by hash, the same on every replica and stable when other nodes come or go. At least 1.
   */
  readonly peers: number;
  /** And one representative of each other zone, until so many zones have a peer. */
  readonly maxZones: number;
  /**
   * One of the peers by hash is another one after so long, so that in time every pair is seen; 0 = they all
   * stay.
   */
  readonly rotationMs: number;
}

/** No node is probed by more than so many times `peers` others, zone representatives included. */
export const IN_DEGREE_FACTOR = 3;

/**
 * How the in-degree of a node beyond the full mesh is bounded. On each circle a node has one predecessor that
 * is eligible: so many *direct* ones there are by construction. All others (a second choice where two circles
 * agree, a zone's representative) are *extra*, and counted while they are given out.
 *
 *     peers - 1 direct  +  2 rotating  +  2 extra rotating  +  extra  <=  3 x peers
 *
 * Two of each of the rotating ones, as nodes move on to their next window at different moments.
 */
interface DegreeBudget {
  /** Circles whose peers stay. */
  readonly stable: number;
  readonly extra: number;
}

/** Extra ones a node may be per window among the rotating peers. */
export const EXTRA_ROTATING = 1;

/** See {@link DegreeBudget}. */
export function degreeBudget({ peers, rotationMs }: PeerRule): DegreeBudget {
  const rotates = peers > 1 && rotationMs > 0;
  const stable = rotates ? peers - 1 : peers;
  const rotating = rotates ? 2 * (1 + EXTRA_ROTATING) : 0;
  return { stable, extra: IN_DEGREE_FACTOR * peers - stable - rotating };
}

/** Whether everybody probes everybody: also where all others are no more peers than the rule asks for. */
export function isFullMesh(nodes: number, { fullMeshLimit, peers }: PeerRule): boolean {
  return nodes <= Math.max(fullMeshLimit, peers + 1);
}

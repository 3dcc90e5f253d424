/** How far a workload's replicas are kept apart, beyond what their pods ask for themselves. */
export interface SpreadLimits {
  /**
   * More replicas on a node than on the one that has fewest. kube-scheduler's own default. null: no limit.
   * @default 3
   */
  readonly hostnameMaxSkew: number | null;
  /** The same of zones. @default 5 */
  readonly zoneMaxSkew: number | null;
  /** Nodes that replicas are on at least, as far as there are so many replicas. 1: no rule. @default 2 */
  readonly minNodes: number;
  /** Zones likewise. @default 2 */
  readonly minZones: number;
}

/** As kube-scheduler spreads by default (its system defaulting), and no workload in one place only. */
export const DEFAULT_SPREAD: SpreadLimits = Object.freeze({
  hostnameMaxSkew: 3,
  zoneMaxSkew: 5,
  minNodes: 2,
  minZones: 2,
});

export const ZONE = "topology.kubernetes.io/zone";
export const REGION = "topology.kubernetes.io/region";

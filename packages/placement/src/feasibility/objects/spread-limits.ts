export interface SpreadLimits {
  /**
   * Maximum excess over the node with the fewest replicas, kube-scheduler's default. Null: unlimited.
   * @default 3
   */
  readonly hostnameMaxSkew: number | null;
  /** As `hostnameMaxSkew`, for zones. @default 5 */
  readonly zoneMaxSkew: number | null;
  /** Minimum nodes, as far as there are replicas. 1: no rule. @default 2 */
  readonly minNodes: number;
  /** Minimum zones. @default 2 */
  readonly minZones: number;
}

export const DEFAULT_SPREAD: SpreadLimits = Object.freeze({
  hostnameMaxSkew: 3,
  zoneMaxSkew: 5,
  minNodes: 2,
  minZones: 2,
});

export const ZONE = "topology.kubernetes.io/zone";
export const REGION = "topology.kubernetes.io/region";

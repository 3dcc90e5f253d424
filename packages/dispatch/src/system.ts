// Policies' view of a system: services, nodes of sites, and the cloud behind each site's uplink.

export interface ServiceProfile {
  readonly cores: number;
  readonly memoryGb: number;
  /** Mean service time without waiting. */
  readonly workSeconds: number;
  readonly payloadMb: number;
  readonly imageMb: number;
}

/** Arrays are by service. */
export interface NodeState {
  readonly index: number;
  readonly site: number;
  readonly cores: number;
  readonly memoryGb: number;
  readonly freeCores: number;
  readonly freeMemoryGb: number;
  readonly ready: ArrayLike<number>;
  readonly starting: ArrayLike<number>;
  readonly busy: ArrayLike<number>;
  readonly waiting: ArrayLike<number>;
  readonly inFlight: ArrayLike<number>;
  readonly cached: ArrayLike<number>;
  readonly queueLength: number;
}

interface SiteState {
  readonly nodes: readonly NodeState[];
  readonly queueLength: number;
  /** Time until the uplink has sent its backlog. */
  readonly uplinkBacklogSeconds: number;
}

export interface SystemState {
  readonly services: readonly ServiceProfile[];
  readonly nodes: readonly NodeState[];
  readonly sites: readonly SiteState[];
  readonly cloud: { readonly cores: number; readonly freeCores: number; readonly queueLength: number };
  readonly network: {
    readonly ownSeconds: number;
    readonly otherSeconds: number;
    readonly cloudSeconds: number;
    readonly uplinkMbPerSecond: number;
  };
}

/** Standard deviation of nodes' CPU and memory usage (ξ of KaiS, reward of cMMAC). */
export function imbalance({ nodes }: SystemState): number {
  const usages = nodes.flatMap(({ cores, freeCores, memoryGb, freeMemoryGb }) => [
    1 - freeCores / cores,
    1 - freeMemoryGb / memoryGb,
  ]);
  const mean = usages.reduce((sum, usage) => sum + usage, 0) / usages.length;
  return Math.sqrt(usages.reduce((sum, usage) => sum + (usage - mean) ** 2, 0) / usages.length);
}

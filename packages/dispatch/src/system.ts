// What policies know of a system: services, nodes of sites, and the cloud behind each site's uplink.

/** A kind of request, and what a replica of it takes. */
export interface ServiceProfile {
  readonly cores: number;
  readonly memoryGb: number;
  /** Mean time of a request without waiting. */
  readonly workSeconds: number;
  readonly payloadMb: number;
  readonly imageMb: number;
}

/** Counts are by service. */
export interface NodeState {
  readonly index: number;
  readonly site: number;
  readonly cores: number;
  readonly memoryGb: number;
  readonly freeCores: number;
  readonly freeMemoryGb: number;
  readonly ready: ArrayLike<number>;
  readonly starting: ArrayLike<number>;
  /** Requests that are worked on, that wait here, that are on their way here. */
  readonly busy: ArrayLike<number>;
  readonly waiting: ArrayLike<number>;
  readonly inFlight: ArrayLike<number>;
  /** Whether the image is there: 0 or 1. */
  readonly cached: ArrayLike<number>;
  readonly queueLength: number;
}

interface SiteState {
  readonly nodes: readonly NodeState[];
  /** Requests at the access point that wait to be dispatched. */
  readonly queueLength: number;
  /** How long the uplink is busy with what was sent. */
  readonly uplinkBacklogSeconds: number;
}

export interface SystemState {
  readonly services: readonly ServiceProfile[];
  /** All sites' nodes, in the order of their index. */
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

/** Standard deviation of the CPU and memory usage of nodes (ξ of KaiS, reward of cMMAC). */
export function imbalance({ nodes }: SystemState): number {
  const usages = nodes.flatMap(({ cores, freeCores, memoryGb, freeMemoryGb }) => [
    1 - freeCores / cores,
    1 - freeMemoryGb / memoryGb,
  ]);
  const mean = usages.reduce((sum, usage) => sum + usage, 0) / usages.length;
  return Math.sqrt(usages.reduce((sum, usage) => sum + (usage - mean) ** 2, 0) / usages.length);
}

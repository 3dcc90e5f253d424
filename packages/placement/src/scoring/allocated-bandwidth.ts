import type { WorkflowGraph } from "@isochrone/topology";
import { placedReplicas } from "./neighbours.ts";
import type { AssumedPod, PodToPlace } from "./problem.ts";

/**
 * Bandwidth reserved by placed dependencies, per node pair: `minBandwidth` for each pair of placed replicas,
 * as NetworkTopology's bandwidthAllocated counts it. Excludes the pod to be placed.
 */
export class AllocatedBandwidth {
  readonly #claims = new Map<string, number>();

  constructor(pod: PodToPlace, workflow: WorkflowGraph, assumed: readonly AssumedPod[]) {
    const nodesOf = (workload: string): string[] =>
      placedReplicas(workload, workflow, assumed)
        .filter(({ name }) => workload !== pod.workload || name !== pod.name)
        .map(({ node }) => node);
    for (const { source, target, minBandwidthBitsPerSecond: need } of workflow.channels) {
      if (need === null || need === 0) continue;
      const targets = nodesOf(target);
      for (const from of nodesOf(source))
        for (const to of targets) if (from !== to) this.#claim(from, to, need);
    }
  }

  /** Reserved bits per second between two nodes. */
  between(from: string, to: string): number {
    return this.#claims.get(key(from, to)) ?? 0;
  }

  #claim(from: string, to: string, bitsPerSecond: number): void {
    const both = key(from, to);
    this.#claims.set(both, (this.#claims.get(both) ?? 0) + bitsPerSecond);
  }
}

function key(from: string, to: string): string {
  return `${from}\n${to}`;
}

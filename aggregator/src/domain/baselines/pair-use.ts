import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import type { PairNames } from "./pair-readings.ts";

const MAX_NAMED = 3;

interface Use {
  readonly name: string;
  readonly source: ReadonlyMap<string, number>;
  readonly target: ReadonlyMap<string, number>;
  readonly bytesPerSecond: number;
  readonly requestsPerSecond: number;
}

/** Channels with traffic between a pair of nodes, by the placement of their pods. */
export class PairUse {
  readonly #uses: Use[] = [];

  constructor(workflows: readonly WorkflowGraphSnapshot[]) {
    for (const { workloads, channels } of workflows) {
      const byName = new Map(workloads.map((workload) => [workload.name, workload]));
      for (const { source, target, bytesPerSecond, requestsPerSecond } of channels) {
        const [from, to] = [byName.get(source), byName.get(target)];
        const isBusy = (bytesPerSecond ?? 0) > 0 || (requestsPerSecond ?? 0) > 0;
        if (from === undefined || to === undefined || !isBusy) continue;
        this.#uses.push({
          name: `${from.namespace}/${source} -> ${to.namespace}/${target}`,
          source: sharesOf(from),
          target: sharesOf(to),
          bytesPerSecond: bytesPerSecond ?? 0,
          requestsPerSecond: requestsPerSecond ?? 0,
        });
      }
    }
  }

  busiest({ source, target }: PairNames): string[] {
    const found = new Map<string, { bytes: number; requests: number }>();
    for (const use of this.#uses) {
      const share = shareOf(use, source, target) + shareOf(use, target, source);
      if (share === 0) continue;
      const bytes = share * use.bytesPerSecond;
      const requests = share * use.requestsPerSecond;
      const known = found.get(use.name);
      if (known === undefined || known.bytes < bytes) found.set(use.name, { bytes, requests });
    }
    return [...found]
      .sort(([, a], [, b]) => b.bytes - a.bytes || b.requests - a.requests)
      .slice(0, MAX_NAMED)
      .map(([name]) => name);
  }
}

function sharesOf({ pods }: WorkflowGraphSnapshot["workloads"][number]): ReadonlyMap<string, number> {
  const shares = new Map<string, number>();
  for (const { node } of pods) if (node !== null) shares.set(node, (shares.get(node) ?? 0) + 1 / pods.length);
  return shares;
}

function shareOf({ source, target }: Use, from: string, to: string): number {
  return (source.get(from) ?? 0) * (target.get(to) ?? 0);
}

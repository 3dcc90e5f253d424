// Baselines of ENTS (section VI): the whole job on one node chosen like kube-scheduler, and partitioning
// without bandwidth allocation.
import { throughputOf, type PlacedJob } from "../placed-job.ts";
import type { StreamStrategy } from "../strategy.ts";
import type { StreamJob } from "../stream-job.ts";
import { fits, type StreamSystem } from "../stream-system.ts";
import { equalShares, maxMinShares } from "./sharing.ts";
import { shortestFlows } from "./shortest-flows.ts";

/** Sharing of links without allocation: equally, as in the paper's model, or like TCP. */
type Sharing = "equal" | "tcp";

/** LeastRequestedPriority: the whole job on the node with the largest mean of free shares. */
export function leastRequested(sharing: Sharing = "equal"): StreamStrategy {
  return unallocated("lr", sharing, (job, system) =>
    whole(job, system, (node) => {
      const { free, total } = system;
      return -(
        free.memoryBytes[node]! / total.memoryBytes[node]! +
        free.cpuMillicores[node]! / total.cpuMillicores[node]!
      );
    }),
  );
}

/**
 * BalancedResourceAllocation: the whole job on the node whose CPU and memory utilization then differ least.
 */
export function balancedAllocation(sharing: Sharing = "equal"): StreamStrategy {
  return unallocated("br", sharing, (job, system) => {
    const memory = job.tasks.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
    const cpu = job.tasks.reduce((sum, { cpuMillicores }) => sum + cpuMillicores, 0);
    return whole(job, system, (node) => {
      const { free, total } = system;
      const memoryLeft = (free.memoryBytes[node]! - memory) / total.memoryBytes[node]!;
      const cpuLeft = (free.cpuMillicores[node]! - cpu) / total.cpuMillicores[node]!;
      return Math.abs(memoryLeft - cpuLeft);
    });
  });
}

export function partitioned(sharing: Sharing = "equal"): StreamStrategy {
  return unallocated("tp", sharing, (job, system) => shortestFlows(job, system));
}

function unallocated(
  name: string,
  sharing: Sharing,
  place: (job: StreamJob, system: StreamSystem) => PlacedJob | null,
): StreamStrategy {
  const sharesOf = sharing === "equal" ? equalShares : maxMinShares;
  return {
    name: sharing === "equal" ? name : `${name}-tcp`,
    place: async (job, system) => place(job, system),
    async share({ running, network }): Promise<readonly PlacedJob[]> {
      const shares = sharesOf(
        running.flatMap(({ flows }) => flows),
        network.capacities,
      );
      let at = 0;
      return running.map((placed) => {
        const flows = placed.flows.map((flow) => ({ ...flow, bitsPerSecond: shares[at++]! }));
        return { ...placed, flows, throughput: throughputOf(placed.computable, flows) };
      });
    },
  };
}

function whole(job: StreamJob, system: StreamSystem, score: (node: number) => number): PlacedJob | null {
  const tasks = [...job.tasks.keys()];
  let host = -1;
  let best = Infinity;
  for (const node of system.network.nodes.keys()) {
    if (!fits(system.free, job, tasks, node)) continue;
    const value = score(node);
    if (value >= best) continue;
    best = value;
    host = node;
  }
  return host === -1
    ? null
    : shortestFlows(
        job,
        system,
        tasks.map(() => host),
      );
}

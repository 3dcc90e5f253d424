import type { Path } from "./paths.ts";
import { computable, demandsOf, throughputOf, type Flow, type PlacedJob } from "./placed-job.ts";
import type { StreamJob } from "./stream-job.ts";
import type { StreamSystem } from "./stream-system.ts";

interface RememberedFlow {
  readonly route: readonly string[];
  readonly bitsPerSecond: number;
}

/**
 * Reconstructs a running job. Flows with invalid routes take the shortest path. Null if a flow has no path.
 * @param hosts node index by task
 * @param remembered by dependency index; null: nothing
 */
export function restoredJob(
  job: StreamJob,
  hosts: readonly number[],
  remembered: (dependency: number) => RememberedFlow | null,
  system: StreamSystem,
): PlacedJob | null {
  const flows: Flow[] = [];
  for (const demand of demandsOf(job, hosts)) {
    const before = remembered(demand.dependency);
    const paths = system.paths.choices(demand.source, demand.target);
    const path = paths.find((each) => isRoute(each, before?.route ?? [], system)) ?? paths[0];
    if (path === undefined) return null;
    flows.push({ ...demand, path, bitsPerSecond: before?.bitsPerSecond ?? 0 });
  }
  const most = computable(job, hosts);
  return { job, hosts, computable: most, flows, throughput: throughputOf(most, flows) };
}

function isRoute({ nodes }: Path, route: readonly string[], { network }: StreamSystem): boolean {
  return nodes.length === route.length && nodes.every((node, at) => network.nodes[node] === route[at]);
}

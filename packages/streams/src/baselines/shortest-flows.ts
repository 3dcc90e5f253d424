import { allocateTasks } from "../paper/allocation.ts";
import { computable, demandsOf, type Flow, type PlacedJob } from "../placed-job.ts";
import type { StreamJob } from "../stream-job.ts";
import type { StreamSystem } from "../stream-system.ts";

/** Nodes by ENTS' Algorithm 1 (or given), flows on shortest paths, no rates. Null without room or path. */
export function shortestFlows(
  job: StreamJob,
  system: StreamSystem,
  hosts: readonly number[] | null = allocateTasks(job, system),
): PlacedJob | null {
  if (hosts === null) return null;
  const flows: Flow[] = [];
  for (const demand of demandsOf(job, hosts)) {
    const [path] = system.paths.between(demand.source, demand.target);
    if (path === undefined) return null;
    flows.push({ ...demand, path, bitsPerSecond: 0 });
  }
  return { job, hosts, computable: computable(job, hosts), flows, throughput: 0 };
}

// ENTS, Algorithm 1: assigns each task in order to the node with the least computing plus receiving time.
import { hostOf } from "../placed-job.ts";
import type { StreamJob } from "../stream-job.ts";
import { copyOf, fits, take, type NodeResources, type StreamSystem } from "../stream-system.ts";

/** Smaller differences are rounding errors: the first node wins. Seconds. */
const TIE_SECONDS = 1e-12;

export function allocateTasks(
  job: StreamJob,
  system: StreamSystem,
  free: NodeResources = system.free,
): number[] | null {
  const left = copyOf(free);
  const nodes = system.network.nodes.length;
  const hosts: number[] = [];
  for (const task of job.tasks.keys()) {
    let best = Infinity;
    let host = -1;
    for (let node = 0; node < nodes; node++) {
      if (!fits(left, job, [task], node)) continue;
      const seconds =
        job.secondsPerFrame[task * nodes + node]! + receivingSeconds(job, hosts, task, node, system);
      if (seconds >= best - TIE_SECONDS) continue;
      best = seconds;
      host = node;
    }
    if (host === -1) return null;
    hosts.push(host);
    take(left, { ...job, tasks: [job.tasks[task]!] }, [host]);
  }
  return hosts;
}

/** Longest transfer from its predecessors (ENTS, line 7 by equation 4). */
function receivingSeconds(
  job: StreamJob,
  hosts: readonly number[],
  task: number,
  node: number,
  system: StreamSystem,
): number {
  let longest = 0;
  for (const { source, target, bitsPerFrame } of job.dependencies) {
    if (target !== task) continue;
    const from = hostOf(job, hosts, source);
    if (from !== node) longest = Math.max(longest, bitsPerFrame / averageBandwidth(system, from, node));
  }
  return longest;
}

/**
 * "The average bandwidth of all routing links": mean capacity over all hops of all paths, bits/s. 0 without a
 * path.
 */
function averageBandwidth({ network, paths }: StreamSystem, source: number, target: number): number {
  let sum = 0;
  let count = 0;
  for (const { hops } of paths.between(source, target))
    for (const hop of hops) {
      sum += network.capacities[hop]!;
      count++;
    }
  return count === 0 ? 0 : sum / count;
}

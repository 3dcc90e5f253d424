// Starting placements of the search: four, each built task by task in topological order.
import { hostOf } from "../placed-job.ts";
import type { StreamJob } from "../stream-job.ts";
import { copyOf, fits, take, type StreamSystem } from "../stream-system.ts";

type Price = (task: number, node: number, hosts: readonly number[]) => number;

/** Cost of a hop in seconds: prefers nearer nodes. */
const HOP_SECONDS = 1e-3;

export function startsOf(job: StreamJob, system: StreamSystem, nodes: readonly number[]): number[][] {
  const hops = hopsFrom(job.source, system);
  const count = system.network.nodes.length;
  const seconds = (task: number, node: number): number => job.secondsPerFrame[task * count + node]!;
  const busy = busySeconds(system);
  const receiving = (
    task: number,
    node: number,
    hosts: readonly number[],
    join: (a: number, b: number) => number,
  ): number =>
    job.dependencies
      .filter(({ target }) => target === task)
      .map(({ source, bitsPerFrame }) =>
        transferSeconds(system, busy, hostOf(job, hosts, source), node, bitsPerFrame),
      )
      .reduce(join, 0);
  const prices: Price[] = [
    (task, node, hosts) =>
      Math.max(seconds(task, node), receiving(task, node, hosts, Math.max)) + HOP_SECONDS * hops[node]!,
    (task, node, hosts) =>
      seconds(task, node) + receiving(task, node, hosts, (a, b) => a + b) + HOP_SECONDS * hops[node]!,
    (_, node, hosts) => hops[node]! - (hosts.includes(node) ? 0.5 : 0),
    (task, node, hosts) => (hosts.at(-1) === node ? -Infinity : hops[node]! + seconds(task, node)),
  ];
  const starts = new Map<string, number[]>();
  for (const price of prices) {
    const hosts = greedy(job, system, nodes, price);
    if (hosts !== null) starts.set(hosts.join(" "), hosts);
  }
  return [...starts.values()];
}

function greedy(
  job: StreamJob,
  system: StreamSystem,
  nodes: readonly number[],
  price: Price,
): number[] | null {
  const left = copyOf(system.free);
  const hosts: number[] = [];
  for (const [task, needs] of job.tasks.entries()) {
    let host = -1;
    let least = Infinity;
    for (const node of nodes) {
      if (job.secondsPerFrame[task * system.network.nodes.length + node] === Infinity) continue;
      if (!fits(left, job, [task], node)) continue;
      const value = price(task, node, hosts);
      if (host !== -1 && value >= least) continue;
      least = value;
      host = node;
    }
    if (host === -1) return null;
    hosts.push(host);
    take(left, { ...job, tasks: [needs] }, [host]);
  }
  return hosts;
}

function hopsFrom(source: number, { network }: StreamSystem): Float64Array {
  const hops = new Float64Array(network.nodes.length).fill(Infinity);
  hops[source] = 0;
  const queue = [source];
  for (const node of queue)
    for (const { target } of network.arcsFrom(node)) {
      if (hops[target] !== Infinity) continue;
      hops[target] = hops[node]! + 1;
      queue.push(target);
    }
  return hops;
}

/** Seconds per capacity that one frame of every running job takes. */
function busySeconds({ network, running }: StreamSystem): Float64Array {
  const busy = new Float64Array(network.capacities.length);
  for (const { flows } of running)
    for (const { path, bitsPerFrame } of flows)
      for (const hop of path.hops) busy[hop]! += bitsPerFrame / network.capacities[hop]!;
  return busy;
}

/** On the best path, beside the running jobs' frames. */
function transferSeconds(
  { network, paths }: StreamSystem,
  busy: Float64Array,
  source: number,
  target: number,
  bits: number,
): number {
  let least = source === target ? 0 : Infinity;
  for (const { hops } of paths.choices(source, target)) {
    let longest = 0;
    for (const hop of hops) longest = Math.max(longest, busy[hop]! + bits / network.capacities[hop]!);
    least = Math.min(least, longest);
  }
  return least;
}

import type { FlowNetwork } from "./flow-network.ts";
import { PathTable } from "./paths.ts";
import type { PlacedJob } from "./placed-job.ts";
import type { StreamJob } from "./stream-job.ts";

export interface NodeResources {
  readonly memoryBytes: Float64Array;
  readonly cpuMillicores: Float64Array;
}

export class StreamSystem {
  #network: FlowNetwork;
  #paths: PathTable;
  readonly total: NodeResources;
  readonly free: NodeResources;
  #running: readonly PlacedJob[] = [];

  constructor(network: FlowNetwork, total: NodeResources, paths = new PathTable(network)) {
    this.#network = network;
    this.#paths = paths;
    this.total = total;
    this.free = copyOf(total);
  }

  get network(): FlowNetwork {
    return this.#network;
  }

  get paths(): PathTable {
    return this.#paths;
  }

  changeNetwork(network: FlowNetwork): void {
    this.#network = network;
    this.#paths = this.#paths.of(network);
  }

  get running(): readonly PlacedJob[] {
    return this.#running;
  }

  copy(): StreamSystem {
    const copy = new StreamSystem(this.#network, this.total, this.#paths);
    copy.free.memoryBytes.set(this.free.memoryBytes);
    copy.free.cpuMillicores.set(this.free.cpuMillicores);
    copy.#running = this.#running;
    return copy;
  }

  add(placed: PlacedJob): void {
    take(this.free, placed.job, placed.hosts);
    this.#running = [...this.#running, placed];
  }

  remove(job: StreamJob): boolean {
    const placed = this.#running.find((each) => each.job === job);
    if (placed === undefined) return false;
    giveBack(this.free, job, placed.hosts);
    this.#running = this.#running.filter((each) => each !== placed);
    return true;
  }

  /** Replaces each running job by a version with other nodes, paths or rates. */
  update(running: readonly PlacedJob[]): void {
    for (const [at, placed] of running.entries()) {
      const before = this.#running[at]!;
      if (before.hosts === placed.hosts) continue;
      giveBack(this.free, before.job, before.hosts);
      take(this.free, placed.job, placed.hosts);
    }
    this.#running = running;
  }

  /** Unreserved bits per second by capacity; never negative. */
  unusedCapacities(): Float64Array {
    const left = Float64Array.from(this.network.capacities);
    for (const { flows } of this.#running)
      for (const { path, bitsPerSecond } of flows)
        for (const hop of path.hops) left[hop] = Math.max(0, left[hop]! - bitsPerSecond);
    return left;
  }
}

const TOLERANCE = 1e-9;

export function copyOf({ memoryBytes, cpuMillicores }: NodeResources): NodeResources {
  return { memoryBytes: memoryBytes.slice(), cpuMillicores: cpuMillicores.slice() };
}

export function fits(free: NodeResources, job: StreamJob, tasks: readonly number[], node: number): boolean {
  let memory = 0;
  let cpu = 0;
  for (const task of tasks) {
    memory += job.tasks[task]!.memoryBytes;
    cpu += job.tasks[task]!.cpuMillicores;
  }
  return (
    free.memoryBytes[node]! >= memory * (1 - TOLERANCE) && free.cpuMillicores[node]! >= cpu * (1 - TOLERANCE)
  );
}

export function take(free: NodeResources, job: StreamJob, hosts: readonly number[]): void {
  change(free, job, hosts, -1);
}

export function giveBack(free: NodeResources, job: StreamJob, hosts: readonly number[]): void {
  change(free, job, hosts, 1);
}

function change(free: NodeResources, job: StreamJob, hosts: readonly number[], sign: 1 | -1): void {
  for (const [task, node] of hosts.entries()) {
    free.memoryBytes[node]! += sign * job.tasks[task]!.memoryBytes;
    free.cpuMillicores[node]! += sign * job.tasks[task]!.cpuMillicores;
  }
}

import type { PlacedJob } from "./placed-job.ts";
import type { StreamSystem } from "./stream-system.ts";

/** Bottleneck of a job: a task on its node, or a hop of a flow. */
type Limit =
  | { readonly kind: "task"; readonly task: number; readonly node: number }
  | {
      readonly kind: "link";
      readonly flow: number;
      readonly source: number;
      readonly target: number;
      readonly capacityBitsPerSecond: number;
    };

const EQUAL = 1e-6;

/** The slowest task if compute limits the job, else the fullest hop of its slowest flow. */
export function limitOf(placed: PlacedJob, system: StreamSystem): Limit {
  const { job, hosts, flows, computable, throughput } = placed;
  if (throughput >= computable * (1 - EQUAL) || flows.length === 0) {
    const nodes = system.network.nodes.length;
    const seconds = (task: number): number => job.secondsPerFrame[task * nodes + hosts[task]!]!;
    const task = hosts.reduce((slowest, _, at) => (seconds(at) > seconds(slowest) ? at : slowest), 0);
    return { kind: "task", task, node: hosts[task]! };
  }
  const left = system.unusedCapacities();
  const { capacities } = system.network;
  const hops = flows.flatMap(({ path, bitsPerSecond, bitsPerFrame }, flow) =>
    path.hops.map((hop, at) => ({
      flow,
      pace: bitsPerSecond / bitsPerFrame,
      free: left[hop]! / capacities[hop]!,
      source: path.nodes[at]!,
      target: path.nodes[at + 1]!,
      capacityBitsPerSecond: capacities[hop]!,
    })),
  );
  const slowest = Math.min(...hops.map(({ pace }) => pace)) * (1 + EQUAL);
  const [fullest] = hops.filter(({ pace }) => pace <= slowest).sort((a, b) => a.free - b.free);
  const { flow, source, target, capacityBitsPerSecond } = fullest!;
  return { kind: "link", flow, source, target, capacityBitsPerSecond };
}

// A job's placement by names, which survive network changes and restarts.
import { limitOf, type JobDefinition, type PlacedJob, type StreamSystem } from "@isochrone/streams";

export interface JobFlow {
  /** Sending task; null: the source of the job. */
  readonly from: string | null;
  readonly to: string;
  readonly port: number | null;
  /** Including headers. */
  readonly bitsPerSecond: number;
  readonly route: readonly string[];
}

export type JobLimit =
  | { readonly kind: "task"; readonly task: string; readonly node: string }
  | {
      readonly kind: "link";
      readonly source: string;
      readonly target: string;
      readonly capacityBitsPerSecond: number;
    }
  /** The source produces no more frames. */
  | { readonly kind: "source"; readonly node: string };

export interface Placement {
  readonly hosts: ReadonlyMap<string, string>;
  readonly seconds: ReadonlyMap<string, number>;
  readonly flows: readonly JobFlow[];
  /** Frames/s. */
  readonly throughput: number;
  readonly limit: JobLimit;
  /** Next best nodes at placement and the throughput there, in words; null if unknown. */
  readonly nextBest: string | null;
}

const EQUAL = 1e-6;

export function placementOf(
  placed: PlacedJob,
  { framesPerSecond, spec, tasks, sourcePort }: JobDefinition,
  system: StreamSystem,
): Placement {
  const { job, hosts, flows, throughput } = placed;
  const { nodes } = system.network;
  const secondsOf = (task: number): number => job.secondsPerFrame[task * nodes.length + hosts[task]!]!;
  const isFed = framesPerSecond !== null && throughput >= framesPerSecond * (1 - EQUAL);
  return {
    hosts: new Map(job.tasks.map(({ name }, task) => [name, nodes[hosts[task]!]!])),
    seconds: new Map(job.tasks.map(({ name }, task) => [name, secondsOf(task)])),
    flows: flows.map(({ dependency, path, bitsPerSecond }) => {
      const { source, target } = job.dependencies[dependency]!;
      const from = job.tasks[source]?.name ?? null;
      const to = job.tasks[target]!.name;
      return {
        from,
        to,
        port: from === null ? sourcePort : tasks.get(from)!.portTo(to),
        bitsPerSecond,
        route: path.nodes.map((node) => nodes[node]!),
      };
    }),
    throughput,
    limit: isFed ? { kind: "source", node: spec.source } : limitByName(placed, system),
    nextBest: null,
  };
}

export function nextBestOf({ job, hosts, nextBest }: PlacedJob, { network }: StreamSystem): string | null {
  if (nextBest === undefined) return null;
  const moved = job.tasks.flatMap(({ name }, task) => {
    const host = nextBest.hosts[task]!;
    return host === hosts[task] ? [] : [`${name} on ${network.nodes[host]!}`];
  });
  return `${moved.join(", ")}: ${nextBest.throughput.toFixed(2)} frames/s`;
}

function limitByName(placed: PlacedJob, system: StreamSystem): JobLimit {
  const { nodes } = system.network;
  const limit = limitOf(placed, system);
  if (limit.kind === "task")
    return { kind: "task", task: placed.job.tasks[limit.task]!.name, node: nodes[limit.node]! };
  const { source, target, capacityBitsPerSecond } = limit;
  return { kind: "link", source: nodes[source]!, target: nodes[target]!, capacityBitsPerSecond };
}

// Where a job is, by names: it outlives networks, in which nodes have indexes, and restarts.
import { limitOf, type JobDefinition, type PlacedJob, type StreamSystem } from "@isochrone/streams";

/** What crosses the network for a job. */
export interface JobFlow {
  /** Name of the task that sends; null: the source of the job. */
  readonly from: string | null;
  /** Name of the task that receives. */
  readonly to: string;
  /** Port on which it receives; null: any. */
  readonly port: number | null;
  /** With headers. */
  readonly bitsPerSecond: number;
  /** Names of nodes from sender to receiver. */
  readonly route: readonly string[];
}

/** What keeps a job from going faster. */
export type JobLimit =
  | { readonly kind: "task"; readonly task: string; readonly node: string }
  | {
      readonly kind: "link";
      readonly source: string;
      readonly target: string;
      readonly capacityBitsPerSecond: number;
    }
  /** No more frames arise. */
  | { readonly kind: "source"; readonly node: string };

export interface Placement {
  /** Name of the node, by task. */
  readonly hosts: ReadonlyMap<string, string>;
  /** Seconds for a frame there, by task. */
  readonly seconds: ReadonlyMap<string, number>;
  readonly flows: readonly JobFlow[];
  /** Frames per second. */
  readonly throughput: number;
  readonly limit: JobLimit;
  /**
   * In words: the next best nodes when the job was placed, with its throughput there. Null: none is known.
   */
  readonly nextBest: string | null;
}

/** Below this part of it, a rate is the same. */
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

/** Of a job that was placed now. */
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

import {
  limitOf,
  schedule,
  type PlacedJob,
  type StreamStrategy,
  type StreamSystem,
} from "@isochrone/streams";
import type { StreamObjects } from "./read-streams.ts";

export interface PlannedJob {
  readonly name: string;
  /** Frames per second. */
  readonly throughput: number;
  readonly minThroughput: number | null;
  readonly tasks: readonly { readonly name: string; readonly node: string }[];
  readonly flows: readonly PlannedFlow[];
  readonly limit: PlannedLimit;
}

interface PlannedFlow {
  readonly from: string;
  readonly to: string;
  readonly route: readonly string[];
  readonly bitsPerSecond: number;
}

export type PlannedLimit =
  | { readonly kind: "task"; readonly task: string; readonly node: string }
  | {
      readonly kind: "link";
      readonly source: string;
      readonly target: string;
      readonly capacityBitsPerSecond: number;
    };

export interface StreamPlan {
  readonly strategy: string;
  readonly jobs: readonly PlannedJob[];
  /** Jobs without room, or that would break a promise. */
  readonly waiting: readonly string[];
}

export async function planStreams(
  { system, jobs }: StreamObjects,
  strategy: StreamStrategy,
): Promise<StreamPlan> {
  const waiting: string[] = [];
  for (const job of jobs) {
    const left = await schedule(strategy, system, [job], false);
    waiting.push(...left.map(({ name }) => name));
  }
  return { strategy: strategy.name, jobs: system.running.map((placed) => planned(placed, system)), waiting };
}

function planned(placed: PlacedJob, system: StreamSystem): PlannedJob {
  const { job, hosts, flows, throughput } = placed;
  const { nodes } = system.network;
  const nameOf = (task: number): string => job.tasks[task]?.name ?? "source";
  return {
    name: job.name,
    throughput,
    minThroughput: job.minThroughput,
    tasks: job.tasks.map(({ name }, task) => ({ name, node: nodes[hosts[task]!]! })),
    flows: flows.map(({ dependency, path, bitsPerSecond }) => {
      const { source, target } = job.dependencies[dependency]!;
      return {
        from: nameOf(source),
        to: nameOf(target),
        route: path.nodes.map((node) => nodes[node]!),
        bitsPerSecond,
      };
    }),
    limit: plannedLimit(placed, system),
  };
}

function plannedLimit(placed: PlacedJob, system: StreamSystem): PlannedLimit {
  const { nodes } = system.network;
  const limit = limitOf(placed, system);
  if (limit.kind === "task")
    return { kind: "task", task: placed.job.tasks[limit.task]!.name, node: nodes[limit.node]! };
  const { source, target, capacityBitsPerSecond } = limit;
  return { kind: "link", source: nodes[source]!, target: nodes[target]!, capacityBitsPerSecond };
}

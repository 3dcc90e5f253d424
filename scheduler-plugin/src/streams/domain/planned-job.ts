// Converts a StreamJob for the strategies: frames with headers, pace bounded by the source.
import { createStreamJob, withHeaders, type JobDefinition, type StreamJob } from "@isochrone/streams";
import type { Placement } from "./placement.ts";

export interface StreamNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly totalCpuMillicores: number;
  /** Available to tasks; running ones count as free. */
  readonly memoryBytes: number;
  readonly cpuMillicores: number;
}

export interface NodeRejection {
  readonly plugin: string;
  readonly message: string;
}

export interface TaskRequests {
  readonly memoryBytes: number;
  readonly cpuMillicores: number;
}

export type MeasuredSeconds = (task: string, node: StreamNode) => number | null;

/** Margin for retransmitted frames, which counters include. */
const SURELY_FASTER = 0.9;

export function isTooSlow(seconds: number, fastest: number | null): boolean {
  return fastest !== null && fastest * seconds * SURELY_FASTER > 1;
}

interface PlannedJobOptions {
  readonly definition: JobDefinition;
  readonly nodes: readonly StreamNode[];
  readonly requestsOf: (task: string) => TaskRequests;
  readonly allows: (task: string, node: string) => boolean;
  /** Seconds per frame measured by a profiling pod; null: as declared. */
  readonly measured: MeasuredSeconds;
  /** Highest frame rate at its nodes, frames/s: bounds how slow a task can be. Null if unknown. */
  readonly fastest: number | null;
  readonly placement: Pick<Placement, "hosts" | "seconds"> | null;
}

/** Throws StreamError for a spec that can't be planned. */
export function plannedJob({
  definition,
  nodes,
  requestsOf,
  allows,
  measured,
  fastest,
  placement,
}: PlannedJobOptions): StreamJob {
  const { spec, framesPerSecond, tasks } = definition;
  const least = framesPerSecond === null ? 0 : 1 / framesPerSecond;
  const secondsOn = (task: string, node: StreamNode): number | null => {
    const { name, labels } = node;
    const host = placement?.hosts.get(task);
    const seconds = measured(task, node) ?? tasks.get(task)!.secondsOn(labels);
    if (host === undefined) return seconds !== null && allows(task, name) ? seconds : null;
    if (host !== name) return null;
    const known = seconds ?? placement?.seconds.get(task) ?? null;
    return known !== null && isTooSlow(known, fastest) ? 1 / fastest! : known;
  };
  return createStreamJob(
    {
      ...spec,
      bytesPerFrame: withHeaders(spec.bytesPerFrame),
      tasks: spec.tasks.map((task) => ({
        ...task,
        ...requestsOf(task.name),
        downstream: (task.downstream ?? []).map((next) => ({
          ...next,
          bytesPerFrame: withHeaders(next.bytesPerFrame),
        })),
      })),
    },
    nodes.map(({ name }) => name),
    (task, node) => {
      const seconds = secondsOn(task, nodes[node]!);
      return seconds === null ? null : Math.max(seconds, least);
    },
  );
}

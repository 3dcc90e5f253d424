// A StreamJob as the strategies see it: its frames with their headers, its pace bounded by its source.
import { createStreamJob, withHeaders, type JobDefinition, type StreamJob } from "@isochrone/streams";
import type { Placement } from "./placement.ts";

/** A node as far as streams need it. */
export interface StreamNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** What it has for pods, whoever uses it. */
  readonly totalCpuMillicores: number;
  /** What it has for tasks of stream jobs; those that run count as free. */
  readonly memoryBytes: number;
  readonly cpuMillicores: number;
}

/** Why kube-scheduler wouldn't let a pod onto a node. */
export interface NodeRejection {
  readonly plugin: string;
  readonly message: string;
}

/** What a task's pod requests, as kube-scheduler counts it. */
export interface TaskRequests {
  readonly memoryBytes: number;
  readonly cpuMillicores: number;
}

/** Of a task on a node. */
export type MeasuredSeconds = (task: string, node: StreamNode) => number | null;

/** Counters see frames that were sent again, too. */
const SURELY_FASTER = 0.9;

/** Whether a job has made more frames than a task of these seconds could. */
export function isTooSlow(seconds: number, fastest: number | null): boolean {
  return fastest !== null && fastest * seconds * SURELY_FASTER > 1;
}

interface PlannedJobOptions {
  readonly definition: JobDefinition;
  readonly nodes: readonly StreamNode[];
  readonly requestsOf: (task: string) => TaskRequests;
  /** Whether the task's pod may go there. */
  readonly allows: (task: string, node: string) => boolean;
  /** Seconds for a frame as a profiling pod took them; null: as declared. */
  readonly measured: MeasuredSeconds;
  /** Frames per second that it has made where it is: no task there can be slower. Null: unknown. */
  readonly fastest: number | null;
  /** Tasks that have a node stay there. */
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

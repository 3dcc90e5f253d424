import { WorkflowGraph } from "@isochrone/topology";
import { median } from "@isochrone/primitives";
import type { Channel } from "@isochrone/topology";
import { bytesPerSecondOf } from "../scoring/channel-traffic.ts";
import type { RequestValue } from "../scoring/channel-traffic.ts";
import type { PlacementProblem } from "../scoring/problem.ts";

/** Bytes per second of each channel if no traffic is known: all dependencies weigh the same. */
const EQUAL_WEIGHT = 1;

interface Weighted {
  readonly graph: WorkflowGraph;
  /** Bytes per second of channels without data. Null: no channel has data. */
  readonly assumedBytesPerSecond: number | null;
}

/** Assumes the median known traffic of the workflow for channels without data. Caches per graph. */
export class WeightedChannels {
  readonly #kept = new WeakMap<WorkflowGraph, Weighted>();
  readonly #requestValue: RequestValue;

  constructor(requestValue: RequestValue) {
    this.#requestValue = requestValue;
  }

  of(problem: PlacementProblem): { readonly problem: PlacementProblem; readonly remark: string | null } {
    const { workflow, pod } = problem;
    if (workflow.graph === null || pod.workload === null) return { problem, remark: null };
    let weighted = this.#kept.get(workflow.graph);
    if (weighted === undefined) this.#kept.set(workflow.graph, (weighted = this.#weigh(workflow.graph)));
    return {
      problem: { ...problem, workflow: { ...workflow, graph: weighted.graph } },
      remark: this.#remark(workflow.graph, pod.workload, weighted.assumedBytesPerSecond),
    };
  }

  #weigh(graph: WorkflowGraph): Weighted {
    const known = graph.channels.flatMap((channel) => this.#bytesPerSecond(channel) ?? []);
    const assumedBytesPerSecond = median(known.filter((bytes) => bytes > 0));
    if (known.length === graph.channels.length) return { graph, assumedBytesPerSecond };
    const channels = graph.channels.map((channel) =>
      this.#bytesPerSecond(channel) === null
        ? { ...channel, bytesPerSecond: assumedBytesPerSecond ?? EQUAL_WEIGHT }
        : channel,
    );
    const { version, observedAt, namespace, name } = graph;
    const workloads = [...graph.workloads];
    return {
      graph: new WorkflowGraph({ version, observedAt, namespace, name, workloads, channels }),
      assumedBytesPerSecond,
    };
  }

  #remark(graph: WorkflowGraph, workload: string, assumed: number | null): string | null {
    const ends = [...graph.channelsFrom(workload), ...graph.channelsTo(workload)];
    const unknown = new Set(ends.filter((channel) => this.#bytesPerSecond(channel) === null)).size;
    if (unknown === 0) return null;
    const channels = unknown === 1 ? "1 channel" : `${unknown} channels`;
    return assumed === null
      ? `the traffic of ${channels} is not known: each dependency weighs the same`
      : `${channels} of unknown traffic counted as the median known one, ${Math.round(assumed)} bytes/s`;
  }

  #bytesPerSecond(channel: Channel): number | null {
    return bytesPerSecondOf(channel, this.#requestValue);
  }
}

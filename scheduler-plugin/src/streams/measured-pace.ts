// What running jobs achieve, by the counters of network managers in the workflow graphs.
import { streamWorkloadName, workflowOf } from "@isochrone/kubernetes";
import type { GraphSource } from "../ports/ports.ts";
import type { JobFlow, Placement } from "./domain/placement.ts";
import { isTooSlow } from "./domain/planned-job.ts";
import { withHeaders } from "@isochrone/streams";
import type { KnownJob } from "./known-jobs.ts";

/** Figures change a little all the time: this many significant digits count. */
const DIGITS = 2;
const BITS_PER_BYTE = 8;

/** What was measured of jobs, by uid. */
export class MeasuredPaces {
  readonly #graphs: Pick<GraphSource, "workflow">;
  readonly #known = new Map<string, { readonly hosts: string; now: number | null; fastest: number }>();

  constructor(graphs: Pick<GraphSource, "workflow">) {
    this.#graphs = graphs;
  }

  /** Looks anew. */
  read(job: KnownJob, placement: Placement): void {
    const hosts = JSON.stringify([job.object.metadata.generation, ...placement.hosts]);
    const now = measuredPace(job, placement, this.#graphs);
    const before = this.#known.get(job.uid);
    const fastest = before?.hosts === hosts ? before.fastest : 0;
    this.#known.set(job.uid, { hosts, now, fastest: Math.max(fastest, now ?? 0) });
  }

  /** Looks at all jobs with nodes anew. Returns whether some task is faster than its placement says. */
  readAll(known: ReadonlyMap<string, KnownJob>, placements: ReadonlyMap<string, Placement>): boolean {
    this.keep(placements);
    let isAnyTooSlow = false;
    for (const [uid, placement] of placements) {
      const job = known.get(uid);
      if (job === undefined) continue;
      this.read(job, placement);
      // No more frames arise than the source says.
      const { framesPerSecond } = job.definition;
      const fastest = Math.min(this.fastest(uid) ?? 0, framesPerSecond ?? Infinity);
      isAnyTooSlow ||= [...placement.seconds.values()].some((seconds) => isTooSlow(seconds, fastest));
    }
    return isAnyTooSlow;
  }

  /** Frames per second now; null: unknown. */
  of(uid: string): number | null {
    return this.#known.get(uid)?.now ?? null;
  }

  /** The most that the job has made on its nodes; null: unknown. */
  fastest(uid: string): number | null {
    const fastest = this.#known.get(uid)?.fastest ?? 0;
    return fastest === 0 ? null : fastest;
  }

  /** Forgets all but these. */
  keep(uids: { has(uid: string): boolean }): void {
    for (const uid of this.#known.keys()) if (!uids.has(uid)) this.#known.delete(uid);
  }
}

/** Frames per second, a mean of the graph's window. Null: not all flows of the job are counted. */
function measuredPace(
  job: KnownJob,
  { flows }: Placement,
  graphs: Pick<GraphSource, "workflow">,
): number | null {
  let slowest = Infinity;
  for (const flow of flows) {
    const achieved = achievedOf(job, flow, graphs);
    const bits = withHeaders(bytesPerFrame(job, flow)) * BITS_PER_BYTE;
    if (achieved === null || !(bits > 0)) return null;
    slowest = Math.min(slowest, achieved / bits);
  }
  return slowest === Infinity ? null : Number(slowest.toPrecision(DIGITS));
}

/** Bits per second; null: nobody counts it. */
function achievedOf(
  { object, samples }: KnownJob,
  { from, to }: JobFlow,
  graphs: Pick<GraphSource, "workflow">,
): number | null {
  const { namespace = "default", name } = object.metadata;
  // A channel is in the workflow of its target, whatever its source belongs to.
  const graph = graphs.workflow(namespace, workflowOf(samples.get(to)?.metadata.labels ?? {}, namespace));
  const source = streamWorkloadName(name, from ?? "source");
  const channels = graph?.channelsFrom(source) ?? [];
  const found = channels.find(({ target }) => target === streamWorkloadName(name, to));
  return found?.flow?.achievedBitsPerSecond ?? null;
}

function bytesPerFrame({ definition: { spec } }: KnownJob, { from, to }: JobFlow): number {
  if (from === null) return spec.bytesPerFrame;
  const { downstream = [] } = spec.tasks.find(({ name }) => name === from) ?? {};
  return downstream.find(({ task }) => task === to)?.bytesPerFrame ?? 0;
}

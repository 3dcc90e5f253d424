// Pace of running jobs, from network managers' counters in the workflow graphs.
import { streamWorkloadName, workflowOf } from "@isochrone/kubernetes";
import type { GraphSource } from "../ports/ports.ts";
import type { JobFlow, Placement } from "./domain/placement.ts";
import { isTooSlow } from "./domain/planned-job.ts";
import { withHeaders } from "@isochrone/streams";
import type { KnownJob } from "./known-jobs.ts";

/** Significant digits: figures fluctuate. */
const DIGITS = 2;
const BITS_PER_BYTE = 8;

export class MeasuredPaces {
  readonly #graphs: Pick<GraphSource, "workflow">;
  readonly #known = new Map<string, { readonly hosts: string; now: number | null; fastest: number }>();

  constructor(graphs: Pick<GraphSource, "workflow">) {
    this.#graphs = graphs;
  }

  read(job: KnownJob, placement: Placement): void {
    const hosts = JSON.stringify([job.object.metadata.generation, ...placement.hosts]);
    const now = measuredPace(job, placement, this.#graphs);
    const before = this.#known.get(job.uid);
    const fastest = before?.hosts === hosts ? before.fastest : 0;
    this.#known.set(job.uid, { hosts, now, fastest: Math.max(fastest, now ?? 0) });
  }

  readAll(known: ReadonlyMap<string, KnownJob>, placements: ReadonlyMap<string, Placement>): boolean {
    this.keep(placements);
    let isAnyTooSlow = false;
    for (const [uid, placement] of placements) {
      const job = known.get(uid);
      if (job === undefined) continue;
      this.read(job, placement);
      const { framesPerSecond } = job.definition;
      const fastest = Math.min(this.fastest(uid) ?? 0, framesPerSecond ?? Infinity);
      isAnyTooSlow ||= [...placement.seconds.values()].some((seconds) => isTooSlow(seconds, fastest));
    }
    return isAnyTooSlow;
  }

  of(uid: string): number | null {
    return this.#known.get(uid)?.now ?? null;
  }

  fastest(uid: string): number | null {
    const fastest = this.#known.get(uid)?.fastest ?? 0;
    return fastest === 0 ? null : fastest;
  }

  keep(uids: { has(uid: string): boolean }): void {
    for (const uid of this.#known.keys()) if (!uids.has(uid)) this.#known.delete(uid);
  }
}

/** Frames/s, mean of the graph's window; null unless all flows are counted. */
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

/** Bit/s; null if not counted. */
function achievedOf(
  { object, samples }: KnownJob,
  { from, to }: JobFlow,
  graphs: Pick<GraphSource, "workflow">,
): number | null {
  const { namespace = "default", name } = object.metadata;
  // A channel belongs to its target's workflow.
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

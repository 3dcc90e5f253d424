// Re-places the slowest running jobs if better nodes became free and the gain is large enough.
import type { PlacedJob } from "../placed-job.ts";
import type { StreamJob } from "../stream-job.ts";
import type { StreamSystem } from "../stream-system.ts";
import { fillByJob, loadOfJob } from "./filling.ts";
import { placeJob, type PlaceSettings } from "./place.ts";
import { keepsPromises } from "./reroute.ts";

interface RelocateSettings extends Pick<PlaceSettings, "candidates"> {
  readonly moveMargin: number;
}

/** Slowest jobs tried per change: many small attempts gain most. */
const LOOKED_AT = 10;
const EVALUATIONS = 120;

export function relocate(
  running: readonly PlacedJob[],
  system: StreamSystem,
  settings: RelocateSettings,
): readonly PlacedJob[] {
  const paced = fillByJob(running, system);
  const slowest = paced
    .filter(({ job, throughput }) => throughput * (1 + settings.moveMargin) < mostOf(job))
    .sort((a, b) => a.throughput - b.throughput)
    .slice(0, LOOKED_AT);
  const trial = system.copy();
  trial.update(running);
  const jobs = new Map(running.map((placed) => [placed.job, placed]));
  const before = new Map(paced.map((each) => [each.job, each.throughput]));
  for (const { job } of slowest) {
    const placed = jobs.get(job)!;
    trial.remove(job);
    const after = placedAnew(placed, before, trial, settings) ?? placed;
    trial.add(after);
    jobs.set(job, after);
  }
  return [...jobs.values()];
}

function mostOf({ secondsPerFrame, tasks }: StreamJob): number {
  const nodes = secondsPerFrame.length / tasks.length;
  let slowest = 0;
  for (const task of tasks.keys())
    slowest = Math.max(slowest, secondsPerFrame.subarray(task * nodes, (task + 1) * nodes).reduce(least));
  return 1 / slowest;
}

const least = (a: number, b: number): number => Math.min(a, b);

/**
 * Searches from the current placement and from scratch: tasks may gain only by moving together. Null if the
 * gain is too small.
 * @param before frames per second by job
 * @param others the system without the job
 */
function placedAnew(
  { job, hosts }: PlacedJob,
  before: ReadonlyMap<StreamJob, number>,
  others: StreamSystem,
  settings: RelocateSettings,
): PlacedJob | null {
  const found = placeJob(job, others, { ...settings, evaluations: EVALUATIONS }, [hosts]);
  if (found === null || found.placed.throughput < before.get(job)! * (1 + settings.moveMargin)) return null;
  const after = [...others.running, found.placed];
  const paces = after.map((each) => before.get(each.job)!);
  return keepsPromises(after.map(loadOfJob), found.paces, paces) ? found.placed : null;
}

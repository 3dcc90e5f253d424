// Running jobs that got bad nodes, because better ones were taken when they came: the slowest one is placed
// anew where that gains enough.
import type { PlacedJob } from "../placed-job.ts";
import type { StreamJob } from "../stream-job.ts";
import { copyOf, giveBack, take, type StreamSystem } from "../stream-system.ts";
import { fillByJob, loadOfJob } from "./filling.ts";
import { betterMove, candidatesOf, Judge, type PlaceSettings } from "./place.ts";
import { keepsPromises } from "./reroute.ts";

interface RelocateSettings extends PlaceSettings {
  /** Part of its own throughput that a job must gain. */
  readonly moveMargin: number;
}

/** Slowest jobs that are looked at for each change of the system. */
const LOOKED_AT = 2;

/** The jobs, of which the slowest may have tasks on other nodes. Rates are left to the caller. */
export function relocate(
  running: readonly PlacedJob[],
  system: StreamSystem,
  settings: RelocateSettings,
): readonly PlacedJob[] {
  let jobs = running;
  const paced = fillByJob(running, system);
  const slowest = [...paced.keys()]
    .filter((at) => paced[at]!.throughput * (1 + settings.moveMargin) < mostOf(paced[at]!.job))
    .sort((a, b) => paced[a]!.throughput - paced[b]!.throughput)
    .slice(0, LOOKED_AT);
  const left = copyOf(system.free);
  for (const at of slowest) {
    const moved = moveOf(jobs, at, paced[at]!.throughput, left, system, settings);
    if (moved === null) continue;
    giveBack(left, moved.job, jobs[at]!.hosts);
    take(left, moved.job, moved.hosts);
    jobs = jobs.with(at, moved);
  }
  return jobs;
}

/** Frames per second of a job when each task has the node on which it is fastest. */
function mostOf({ secondsPerFrame, tasks }: StreamJob): number {
  const nodes = secondsPerFrame.length / tasks.length;
  let slowest = 0;
  for (const task of tasks.keys())
    slowest = Math.max(slowest, secondsPerFrame.subarray(task * nodes, (task + 1) * nodes).reduce(least));
  return 1 / slowest;
}

const least = (a: number, b: number): number => Math.min(a, b);

function moveOf(
  jobs: readonly PlacedJob[],
  at: number,
  throughput: number,
  left: { readonly memoryBytes: Float64Array; readonly cpuMillicores: Float64Array },
  system: StreamSystem,
  settings: RelocateSettings,
): PlacedJob | null {
  const placed = jobs[at]!;
  const others = jobs.toSpliced(at, 1);
  const judge = new Judge(system, placed.job, others, settings);
  const now = judge.judge(placed.hosts);
  if (now === null) return null;
  const next = betterMove(
    judge,
    placed.job,
    left,
    now,
    candidatesOf(placed.job, system, settings.candidates),
  );
  if (next === null || next.placed.throughput < throughput * (1 + settings.moveMargin)) return null;
  return keepsPromises([...others, next.placed].map(loadOfJob), next.paces) ? next.placed : null;
}

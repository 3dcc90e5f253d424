// Generates tasks with the trace's statistics: class shares, durations, bursts, drifting rates. Fitted once,
// so that CI and training need no trace.
import { seeded, type Draw } from "@isochrone/primitives";
import type { TaskClass } from "./classes.ts";
import type { Task } from "./trace.ts";

/** Share, planned CPU and memory, then the 10, 30, 50, 70 and 90 % quantiles of the duration in seconds. */
const FITTED: readonly (readonly [number, number, number, ...number[]])[] = [
  [0.23319, 50, 0.2, 1, 3, 7, 17, 129],
  [0.15417, 100, 0.3, 1, 3, 5, 13, 53],
  [0.11492, 100, 0.39, 1, 3, 4, 10, 57],
  [0.11319, 100, 0.49, 1, 4, 11, 30, 98],
  [0.07965, 50, 0.39, 6, 23, 63, 145, 422],
  [0.04344, 100, 0.2, 1, 1, 2, 4, 21],
  [0.0427, 100, 0.59, 4, 10, 20, 39, 119],
  [0.0426, 50, 0.3, 4, 10, 25, 63, 231],
  [0.02344, 400, 1.72, 23, 28, 49, 118, 226],
  [0.01973, 50, 0.59, 11, 29, 60, 166, 626],
  [0.01889, 10, 0.05, 3, 3, 5, 23, 344],
  [0.01774, 30, 0.05, 7, 14, 54, 179, 387],
  [0.01743, 5, 0.03, 12, 36, 146, 337, 696],
  [0.01622, 100, 0.1, 3, 3, 5, 12, 28],
  [0.01397, 100, 0.1, 3, 4, 6, 14, 36],
  [0.0101, 50, 0.49, 31, 62, 105, 212, 437],
  [0.00816, 75, 0.1, 91, 181, 365, 530, 887],
  [0.00461, 100, 0.25, 3, 10, 50, 150, 468],
  [0.00277, 50, 0.15, 1, 1, 2, 4, 9],
  [0.00225, 100, 0.35, 2, 8, 18, 31, 75],
  [0.00157, 100, 0.59, 5, 8, 36, 65, 630],
  [0.00136, 100, 0.69, 3, 3, 7, 10, 59],
  [0.00131, 0, 0, 1, 17, 17, 36, 36],
  [0.00131, 100, 0.39, 4, 12, 25, 59, 539],
  [0.00131, 200, 0.59, 35, 95, 225, 570, 976],
  [0.00115, 100, 0.54, 3, 8, 38, 137, 211],
  [0.00105, 100, 0.79, 7, 26, 51, 108, 974],
  [0.00073, 50, 0.69, 31, 68, 108, 133, 394],
  [0.00073, 100, 0.1, 3, 7, 10, 14, 18],
  [0.01031, 100, 0.3, 4, 18, 60, 239, 967],
];
/** Normal scores of those quantiles. */
const SCORES = [-1.2816, -0.5244, 0, 0.5244, 1.2816];

export const GENERATED_CLASSES: readonly TaskClass[] = FITTED.map(([share, planCpu, planMemory]) => ({
  share,
  planCpu,
  planMemory,
}));

/** Share of single-task jobs. Others have 6.2 tasks on average: 3.6 overall, var/mean of 1 s counts 11. */
const SINGLE = 0.5;
const TASKS = 6.2;
/** Probability that a task has its job's class. */
const OF_JOB = 0.64;
/** Probability that a job has an earlier job's class, and the mean distance in jobs. */
const AS_EARLIER = 0.45;
const EARLIER_JOBS = 5;
/** Correlation of durations in a job (of their normal scores). */
const LIKE_JOB = 0.7;
/** Drift of the rate over 300 tasks: standard deviation of its logarithm, correlation length in tasks. */
const DRIFT = 0.17;
const DRIFT_TASKS = 600;
const JOB_SECONDS = 1;

/** @param count number of tasks; the caller scales their start times to its rate */
export function generatedTasks(count: number, seed: number): Task[] {
  const draw = seeded(seed);
  const tasks: Task[] = [];
  const jobs: number[] = [];
  let start = 0;
  let level = 0;
  while (tasks.length < count) {
    const size = draw() < SINGLE ? 1 : geometric(TASKS, draw);
    const keep = Math.exp(-size / DRIFT_TASKS);
    level = level * keep + DRIFT * Math.sqrt(1 - keep * keep) * normal(draw);
    start -= Math.log(1 - draw()) * Math.exp(-level);
    const ofJob = nextJob(jobs, draw);
    const common = normal(draw);
    jobs.push(ofJob);
    for (let at = 0; at < size && tasks.length < count; at++) {
      const service = draw() < OF_JOB ? ofJob : drawnClass(draw);
      const score = Math.sqrt(LIKE_JOB) * common + Math.sqrt(1 - LIKE_JOB) * normal(draw);
      tasks.push({ service, start: start + JOB_SECONDS * 1e-3 * at, duration: durationOf(service, score) });
    }
  }
  return tasks;
}

function nextJob(jobs: readonly number[], draw: Draw): number {
  if (draw() >= AS_EARLIER) return drawnClass(draw);
  const back = 1 - Math.floor(EARLIER_JOBS * Math.log(1 - draw()));
  return jobs.at(-back) ?? drawnClass(draw);
}

function drawnClass(draw: Draw): number {
  let left = draw();
  for (const [at, [share]] of FITTED.entries()) {
    left -= share;
    if (left < 0) return at;
  }
  return FITTED.length - 1;
}

/** Whole seconds, at least one. Interpolates logs of the fitted quantiles and extrapolates linearly. */
function durationOf(service: number, score: number): number {
  const [, , , ...seconds] = FITTED[service]!;
  const logs = seconds.map((value) => Math.log(value));
  const at = Math.max(
    1,
    SCORES.findIndex((one) => one >= score),
  );
  const [low, high] = score > SCORES.at(-1)! ? [SCORES.length - 2, SCORES.length - 1] : [at - 1, at];
  const part = (score - SCORES[low]!) / (SCORES[high]! - SCORES[low]!);
  return Math.max(1, Math.round(Math.exp(logs[low]! + part * (logs[high]! - logs[low]!))));
}

function geometric(mean: number, draw: Draw): number {
  return 1 + Math.floor(Math.log(1 - draw()) / Math.log(1 - 1 / mean));
}

export function normal(draw: Draw): number {
  return Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
}

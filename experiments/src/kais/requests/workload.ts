// Generates the requests of a run, the same for all contenders.
import { seeded, type Draw } from "@isochrone/primitives";
import type { ServiceProfile } from "@isochrone/dispatch";
import type { SystemSettings } from "./settings.ts";
import { clamp, profilesOf } from "./classes.ts";
import { GENERATED_CLASSES, generatedTasks, normal } from "./generator.ts";
import type { Task, Trace } from "./trace.ts";

export interface Arrival {
  readonly id: number;
  readonly at: number;
  readonly site: number;
  readonly service: number;
  readonly deadline: number;
  /** Unknown to policies. */
  readonly workSeconds: number;
}

export interface Workload {
  readonly services: readonly ServiceProfile[];
  readonly arrivals: readonly Arrival[];
}

/** Standard deviation of the log-normal work. */
const NOISE = 0.25;
/** Amplitude of the rate in P1 to P3; P3 oscillates twice as fast. */
const SWING = 0.6;
const PERIOD_FRAMES = { P1: 10, P2: 10, P3: 5 } as const;
/** Offset between the trace rows of two runs. */
const STRIDE = 997;
/** Tasks to draw from for thinning by patterns. */
const POOL = 20_000;
const MIX_TRIES = 20;

export function workloadOf(
  settings: SystemSettings,
  seed: number,
  run: number,
  trace: Trace | null,
): Workload {
  const services = profilesOf(trace?.classes ?? GENERATED_CLASSES).map((service) => ({
    ...service,
    workSeconds: service.workSeconds * settings.workScale,
  }));
  const draw = seeded(seed * 7919 + run * 104_729 + 13);
  const count = Math.round(settings.perSecond * settings.seconds);
  const tasks = tasksOf(settings, count, seed, run, trace);
  const timed =
    settings.pattern === "P4"
      ? compressed(tasks, count, settings.seconds, draw)
      : thinned(tasks, count, settings, services, draw);
  const arrivals = timed
    .map(({ at, task }) => arrival(at, task, services, settings, draw))
    .sort((a, b) => a.at - b.at)
    .map((one, id) => ({ ...one, id }));
  return { services, arrivals };
}

function tasksOf(
  { pattern }: SystemSettings,
  count: number,
  seed: number,
  run: number,
  trace: Trace | null,
): readonly Task[] {
  const needed = pattern === "P4" ? count : POOL;
  if (trace === null) return generatedTasks(needed, seed * 31 + run);
  const { tasks } = trace;
  const from = tasks.length <= needed ? 0 : (run * STRIDE) % (tasks.length - needed);
  return tasks.slice(from, from + needed);
}

interface Timed {
  readonly at: number;
  readonly task: Task;
}

/** Compresses the trace's times to the wanted rate; repeats a short trace. */
function compressed(tasks: readonly Task[], count: number, seconds: number, draw: Draw): Timed[] {
  const begin = tasks[0]!.start;
  const span = Math.max(1, tasks.at(-1)!.start - begin + 1);
  const rounds = Math.ceil(count / tasks.length);
  return Array.from({ length: count }, (_, at) => {
    const task = tasks[at % tasks.length]!;
    const time = task.start - begin + draw() + Math.floor(at / tasks.length) * span;
    return { task, at: (time * seconds) / (span * rounds) };
  });
}

/** Applies oscillating rates, with more CPU-bound (P1, P3) or memory-bound (P2) classes at the peaks. */
function thinned(
  tasks: readonly Task[],
  count: number,
  { pattern, perSecond, frameSeconds }: SystemSettings,
  services: readonly ServiceProfile[],
  draw: Draw,
): Timed[] {
  const period = (pattern === "P3" ? PERIOD_FRAMES.P3 : PERIOD_FRAMES.P1) * frameSeconds;
  const heaviness = (task: Task): number => {
    const { cores, memoryGb } = services[task.service]!;
    return pattern === "P2" ? memoryGb / 0.8 : cores / 0.75;
  };
  const timed: Timed[] = [];
  let at = 0;
  while (timed.length < count) {
    at -= Math.log(1 - draw()) / (perSecond * (1 + SWING));
    const swing = Math.sin((2 * Math.PI * at) / period);
    if (draw() > (1 + SWING * swing) / (1 + SWING)) continue;
    let task = tasks[Math.floor(draw() * tasks.length)]!;
    for (let attempt = 0; attempt < MIX_TRIES; attempt++) {
      const heavy = heaviness(task);
      if (draw() < (swing > 0 ? heavy : 1.3 - heavy) / 1.6) break;
      task = tasks[Math.floor(draw() * tasks.length)]!;
    }
    timed.push({ at, task });
  }
  return timed;
}

/** "Properly scaled": deadline = work times 1.8 to 8, by the task's duration. */
function arrival(
  at: number,
  { service, duration }: Task,
  services: readonly ServiceProfile[],
  { sites, hotShare }: SystemSettings,
  draw: Draw,
): Arrival {
  const { workSeconds } = services[service]!;
  const slack = clamp(1.8 * Math.max(1, duration) ** 0.2, 1.8, 8);
  const isHot = hotShare > 0 && draw() < hotShare;
  const others = hotShare > 0 ? 1 + Math.floor(draw() * (sites - 1)) : Math.floor(draw() * sites);
  return {
    id: 0,
    at,
    site: isHot ? 0 : others,
    service,
    deadline: at + workSeconds * slack,
    workSeconds: workSeconds * Math.exp(NOISE * normal(draw) - NOISE ** 2 / 2),
  };
}

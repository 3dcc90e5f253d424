// One task of a running job on another node, where that gains enough: a move that ends a pod, unlike those of
// `relocate`, which the model carries out for nothing.
import type { StreamJob } from "../stream-job.ts";
import { copyOf, type StreamSystem } from "../stream-system.ts";
import { fillByJob, loadOfJob } from "./filling.ts";
import { betterMove, candidatesOf, Judge, PLACE_DEFAULTS } from "./place.ts";
import { keepsPromises } from "./reroute.ts";

/** A running job of which a task may move. */
interface Movable {
  /** Index among the running jobs. */
  readonly running: number;
  /** The job with what its tasks take on the nodes where they are not. */
  readonly job: StreamJob;
  /** Indexes of the tasks that may move. */
  readonly tasks: readonly number[];
}

interface TaskMove {
  /** Index among the running jobs. */
  readonly running: number;
  readonly task: number;
  /** Index of the node. */
  readonly node: number;
  /** Frames per second of the job. */
  readonly before: number;
  readonly after: number;
}

/**
 * The move of one task with which the slowest job that can gain by one gains most; null without one. All jobs
 * together gain, too, and every promise holds. The target has room beside all tasks that run.
 * @param margin part of its own throughput that the job must gain
 */
export function bestTaskMove(
  system: StreamSystem,
  movable: readonly Movable[],
  margin: number,
): TaskMove | null {
  const paced = fillByJob(system.running, system);
  const paceOf = ({ running }: Movable): number => paced[running]!.throughput;
  for (const each of movable.toSorted((a, b) => paceOf(a) - paceOf(b))) {
    const { running, job, tasks } = each;
    const { hosts } = paced[running]!;
    const others = paced.toSpliced(running, 1);
    const judge = new Judge(system, job, others, PLACE_DEFAULTS);
    const now = judge.judge(hosts);
    if (now === null) continue;
    const nodes = candidatesOf(job, system, PLACE_DEFAULTS.candidates);
    const alone = tasks.toSorted((a, b) => now.stageSeconds[b]! - now.stageSeconds[a]!).map((task) => [task]);
    const next = betterMove(judge, job, copyOf(system.free), now, nodes, alone);
    if (next === null) continue;
    const { throughput: after, hosts: to } = next.placed;
    const before = paceOf(each);
    if (after < before * (1 + margin)) continue;
    const paces = [...others.map(({ throughput }) => throughput), before];
    if (!keepsPromises([...others, next.placed].map(loadOfJob), next.paces, paces)) continue;
    const task = to.findIndex((node, at) => node !== hosts[at]);
    return { running, task, node: to[task]!, before, after };
  }
  return null;
}

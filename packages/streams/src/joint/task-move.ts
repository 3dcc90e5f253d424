// Moves one task of a running job if it gains enough. This ends a pod, unlike `relocate`, whose moves the
// model assumes free.
import type { StreamJob } from "../stream-job.ts";
import { copyOf, type StreamSystem } from "../stream-system.ts";
import { fillByJob, loadOfJob } from "./filling.ts";
import { betterMove, candidatesOf, Judge, PLACE_DEFAULTS } from "./place.ts";
import { keepsPromises } from "./reroute.ts";

interface Movable {
  readonly running: number;
  readonly job: StreamJob;
  readonly tasks: readonly number[];
}

interface TaskMove {
  readonly running: number;
  readonly task: number;
  readonly node: number;
  readonly before: number;
  readonly after: number;
}

/**
 * Picks the slowest job that any single-task move improves, and its best move. The move must also raise total
 * utility and keep every promise, and the target must have room beside all running tasks. Null: there is
 * none.
 * @param margin minimum relative gain of the job's throughput
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

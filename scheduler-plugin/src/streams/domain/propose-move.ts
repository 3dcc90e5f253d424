// Finds a task of a running job that gains by moving to another node.
import { bestTaskMove, type StreamJob } from "@isochrone/streams";
import { systemOf, type DecidedJob, type DecideInput } from "./decide.ts";
import { plannedJob } from "./planned-job.ts";

export interface ProposedMove {
  readonly key: string;
  readonly task: string;
  readonly from: string;
  readonly to: string;
  readonly before: number;
  readonly after: number;
}

interface ProposeInput extends Omit<DecideInput, "change" | "strategy"> {
  readonly margin: number;
  readonly mayMove: (key: string, task: string) => boolean;
}

/** Null if none gains enough, or if a waiting job has precedence. */
export function proposeMove(input: ProposeInput): ProposedMove | null {
  const { system, decidedOf, waiting } = systemOf(input);
  if (waiting.length > 0) return null;
  const movable = system.running.flatMap(({ job, hosts }, running) => {
    const decided = decidedOf.get(job)!;
    const tasks = [...job.tasks.keys()].filter((task) => input.mayMove(decided.key, job.tasks[task]!.name));
    return tasks.length === 0 ? [] : [{ running, tasks, job: unpinned(job, hosts, decided, input) }];
  });
  const move = bestTaskMove(system, movable, input.margin);
  if (move === null) return null;
  const { job, hosts } = system.running[move.running]!;
  const { nodes } = system.network;
  return {
    key: decidedOf.get(job)!.key,
    task: job.tasks[move.task]!.name,
    from: nodes[hosts[move.task]!]!,
    to: nodes[move.node]!,
    before: move.before,
    after: move.after,
  };
}

function unpinned(
  job: StreamJob,
  hosts: readonly number[],
  { definition, requestsOf, rejection, measured }: DecidedJob,
  { nodes }: ProposeInput,
): StreamJob {
  const anywhere = plannedJob({
    definition,
    nodes,
    requestsOf,
    allows: (task, node) => rejection(task, node) === null,
    measured,
    fastest: null,
    placement: null,
  });
  const secondsPerFrame = anywhere.secondsPerFrame.slice();
  for (const [task, host] of hosts.entries()) {
    const at = task * nodes.length + host;
    secondsPerFrame[at] = job.secondsPerFrame[at]!;
  }
  return { ...job, secondsPerFrame };
}

import type { PlacedJob } from "./placed-job.ts";
import type { StreamJob } from "./stream-job.ts";
import type { StreamSystem } from "./stream-system.ts";

/** What happened to a system: jobs began, jobs ended, or links changed. */
export type Change = "placed" | "left" | "changed";

/** A way to give jobs nodes, routes and rates. Implementations MUST NOT change the system. */
export interface StreamStrategy {
  readonly name: string;
  /** Places a job beside those that run; null when it must wait. */
  place(job: StreamJob, system: StreamSystem): Promise<PlacedJob | null>;
  /** Returns the running jobs in their order with the routes and rates that they have from now on. */
  share(system: StreamSystem, change: Change): Promise<readonly PlacedJob[]>;
}

/**
 * Places what can be placed of waiting jobs, the longest waiting first, and shares the network anew (ENTS,
 * Algorithms 3 and 4 without the strategy's own steps). Returns the jobs that go on waiting.
 * @param waiting the longest waiting first
 * @param left whether jobs ended since the last call
 */
export async function schedule(
  strategy: StreamStrategy,
  system: StreamSystem,
  waiting: readonly StreamJob[],
  left: boolean,
): Promise<StreamJob[]> {
  const still: StreamJob[] = [];
  for (const job of waiting) {
    const placed = await strategy.place(job, system);
    if (placed === null) still.push(job);
    else system.add(placed);
  }
  const hasNew = still.length < waiting.length;
  if (hasNew || left) system.update(await strategy.share(system, hasNew ? "placed" : "left"));
  return still;
}

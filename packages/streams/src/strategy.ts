import type { PlacedJob } from "./placed-job.ts";
import type { StreamJob } from "./stream-job.ts";
import type { StreamSystem } from "./stream-system.ts";

export type Change = "placed" | "left" | "changed";

/** A placement and sharing strategy. Implementations MUST NOT modify the system. */
export interface StreamStrategy {
  readonly name: string;
  /** Null: the job must wait. */
  place(job: StreamJob, system: StreamSystem): Promise<PlacedJob | null>;
  /** Returns the running jobs in order with new routes and rates. */
  share(system: StreamSystem, change: Change): Promise<readonly PlacedJob[]>;
}

/**
 * Places waiting jobs, longest waiting first, and reshares the network (ENTS, Algorithms 3 and 4 without
 * strategy-specific steps). Returns the jobs still waiting.
 * @param waiting longest waiting first
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

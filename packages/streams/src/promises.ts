// Adds promises and shrinking links to strategies without them: ENTS' algorithms.
import { fillByJob } from "./joint/filling.ts";
import { leastBeside } from "./joint/namespace-shares.ts";
import { keepsPromises } from "./joint/reroute.ts";
import type { PlacedJob } from "./placed-job.ts";
import { namespaceOf } from "./stream-job.ts";
import type { Change, StreamStrategy } from "./strategy.ts";
import { StreamSystem } from "./stream-system.ts";

/**
 * Wraps a strategy so that a job waits while it would break a promise (`minThroughput`). If the strategy's
 * result breaks a promise, does not fit changed links, or namespaces share links, running jobs keep their
 * routes and get new rates, promises first.
 */
export function keepingPromises(strategy: StreamStrategy): StreamStrategy {
  const share = async (system: StreamSystem, change: Change): Promise<readonly PlacedJob[]> => {
    const shared = await strategy.share(system, change);
    const isKept =
      change !== "changed" && !haveNamespaces(shared) && areKept(shared) && fitsLinks(shared, system);
    return isKept ? shared : bestFill(shared, system);
  };
  return {
    name: strategy.name,
    async place(job, system): Promise<PlacedJob | null> {
      const placed = await strategy.place(job, system);
      if (placed === null) return null;
      const promised = [...system.running.map(({ job: other }) => other), job];
      if (promised.every(({ minThroughput }) => minThroughput === null)) return placed;
      const trial = new StreamSystem(system.network, system.total, system.paths);
      for (const running of system.running) trial.add(running);
      trial.add(placed);
      const shared = await share(trial, "placed");
      const mine = shared.at(-1)!;
      // A promise above the nodes' compute limit cannot be met, so the job waits.
      const least = [
        ...leastBeside(job, fillByJob(system.running, system)),
        { least: job.minThroughput ?? 0 },
      ];
      return keepsPromises(least, pacesOf(shared)) ? mine : null;
    },
    share,
  };
}

/** The wrapped strategies do not know namespace shares. */
function haveNamespaces(placed: readonly PlacedJob[]): boolean {
  return new Set(placed.map(({ job }) => namespaceOf(job))).size > 1;
}

/** Prefers old routes that keep a promise over new ones that do not. */
function bestFill(shared: readonly PlacedJob[], system: StreamSystem): readonly PlacedJob[] {
  const filled = fillByJob(shared, system);
  if (areKept(filled)) return filled;
  const before = fillByJob(system.running, system);
  return areKept(before) ? before : filled;
}

function areKept(placed: readonly PlacedJob[]): boolean {
  const promised = placed.map(({ job, computable }) => ({
    least: Math.min(job.minThroughput ?? 0, computable),
  }));
  return keepsPromises(promised, pacesOf(placed));
}

function pacesOf(placed: readonly PlacedJob[]): Float64Array {
  return Float64Array.from(placed, ({ throughput }) => throughput);
}

const EQUAL = 1e-6;

function fitsLinks(placed: readonly PlacedJob[], { network }: StreamSystem): boolean {
  const { capacities } = network;
  const used = new Float64Array(capacities.length);
  for (const { flows } of placed)
    for (const { path, bitsPerSecond } of flows) for (const hop of path.hops) used[hop]! += bitsPerSecond;
  return used.every((bitsPerSecond, hop) => bitsPerSecond <= capacities[hop]! * (1 + EQUAL));
}

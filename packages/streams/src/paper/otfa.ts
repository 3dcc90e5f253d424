// ENTS, Algorithm 4 (OTFA): Algorithm 1 places new jobs; Algorithm 2 then reroutes all flows of all jobs.
import { fillByJob } from "../joint/filling.ts";
import { throughputOf, type PlacedJob } from "../placed-job.ts";
import { shortestFlows } from "../baselines/shortest-flows.ts";
import type { StreamStrategy } from "../strategy.ts";
import type { StreamSystem } from "../stream-system.ts";
import { jointRoutes, type JrbaOptions } from "./jrba.ts";

interface OtfaOptions extends JrbaOptions {
  /**
   * Repairs the printed algorithm: shortest of equally good routes, and capacity unusable by the slowest flow
   * goes to other jobs.
   * @default false
   */
  readonly repaired?: boolean;
}

export function otfa(options: OtfaOptions): StreamStrategy {
  const { repaired = false } = options;
  return {
    name: repaired ? "otfa-repaired" : "otfa",
    place: async (job, system) => shortestFlows(job, system),
    async share(system, change): Promise<readonly PlacedJob[]> {
      // Lines 12 to 18 handle new jobs; freed capacity is reassigned with the next one.
      if (change === "left" && !repaired) return system.running;
      return repaired
        ? fillByJob(await routed(system, { ...options, ties: "shortest" }), system)
        : routed(system, options);
    },
  };
}

async function routed(system: StreamSystem, options: JrbaOptions): Promise<readonly PlacedJob[]> {
  const { running, paths, network } = system;
  const demands = running.flatMap(({ flows }, job) => flows.map((flow) => ({ ...flow, job })));
  const result = await jointRoutes(demands, paths, network.capacities, options);
  if (result === null) return running;
  return running.map((placed, at) => {
    const flows = result.flows.filter(({ job }) => job === at);
    return { ...placed, flows, throughput: throughputOf(placed.computable, flows) };
  });
}

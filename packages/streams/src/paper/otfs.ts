// ENTS, Algorithm 3 (OTFS): each new job gets nodes by Algorithm 1 and routes and rates by Algorithm 2 in
// what the running jobs leave.
import { computable, demandsOf, throughputOf, type Flow, type PlacedJob } from "../placed-job.ts";
import type { StreamStrategy } from "../strategy.ts";
import type { StreamJob } from "../stream-job.ts";
import type { StreamSystem } from "../stream-system.ts";
import { allocateTasks } from "./allocation.ts";
import { jointRoutes, type JrbaOptions } from "./jrba.ts";

interface OtfsOptions extends JrbaOptions {
  /**
   * What happens to a job for which no bandwidth is left, on which the paper is silent: it runs at nothing,
   * or it waits.
   * @default "run"
   */
  readonly withoutBandwidth?: "run" | "wait";
  /**
   * Whether a flow gets more than its job can compute. The printed algorithm gives it all that is left, so
   * that the first job takes its links whole. @default false
   */
  readonly uncapped?: boolean;
}

export function otfs(options: OtfsOptions): StreamStrategy {
  const { withoutBandwidth = "run", uncapped = false } = options;
  return {
    name: withoutBandwidth === "run" ? "otfs" : "otfs-wait",
    async place(job: StreamJob, system: StreamSystem): Promise<PlacedJob | null> {
      const hosts = allocateTasks(job, system);
      if (hosts === null) return null;
      const most = computable(job, hosts);
      const demands = demandsOf(job, hosts);
      const result = await jointRoutes(demands, system.paths, system.unusedCapacities(), options);
      if (result === null && withoutBandwidth === "wait") return null;
      const flows =
        result === null
          ? idleFlows(demands, system)
          : result.flows.map((flow) => ({
              ...flow,
              bitsPerSecond: uncapped
                ? flow.bitsPerSecond
                : Math.min(flow.bitsPerSecond, flow.bitsPerFrame * most),
            }));
      return flows === null
        ? null
        : { job, hosts, computable: most, flows, throughput: throughputOf(most, flows) };
    },
    share: async ({ running }) => running,
  };
}

/** On their shortest paths, with no rate. Null without a path. */
function idleFlows(demands: ReturnType<typeof demandsOf>, { paths }: StreamSystem): Flow[] | null {
  const flows: Flow[] = [];
  for (const demand of demands) {
    const [path] = paths.between(demand.source, demand.target);
    if (path === undefined) return null;
    flows.push({ ...demand, path, bitsPerSecond: 0 });
  }
  return flows;
}

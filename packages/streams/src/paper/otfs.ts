// ENTS, Algorithm 3 (OTFS): Algorithm 1 places each new job; Algorithm 2 routes it in the remaining capacity.
import { computable, demandsOf, throughputOf, type Flow, type PlacedJob } from "../placed-job.ts";
import type { StreamStrategy } from "../strategy.ts";
import type { StreamJob } from "../stream-job.ts";
import type { StreamSystem } from "../stream-system.ts";
import { allocateTasks } from "./allocation.ts";
import { jointRoutes, type JrbaOptions } from "./jrba.ts";

interface OtfsOptions extends JrbaOptions {
  /**
   * For a job without remaining bandwidth, where the paper is silent: run at zero rate, or wait.
   * @default "run"
   */
  readonly withoutBandwidth?: "run" | "wait";
  /**
   * Whether a flow may exceed its job's compute limit. The printed algorithm gives it all remaining capacity,
   * so the first job takes its links whole.
   * @default false
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

function idleFlows(demands: ReturnType<typeof demandsOf>, { paths }: StreamSystem): Flow[] | null {
  const flows: Flow[] = [];
  for (const demand of demands) {
    const [path] = paths.between(demand.source, demand.target);
    if (path === undefined) return null;
    flows.push({ ...demand, path, bitsPerSecond: 0 });
  }
  return flows;
}

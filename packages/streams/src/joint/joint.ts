// Isochrone's strategy: nodes, paths and rates by one objective, the total utility of all jobs' rates.
import type { PlacedJob } from "../placed-job.ts";
import type { StreamStrategy } from "../strategy.ts";
import type { StreamSystem } from "../stream-system.ts";
import { fillByJob } from "./filling.ts";
import { leastBeside } from "./namespace-shares.ts";
import { PLACE_DEFAULTS, placeJob, type PlaceSettings } from "./place.ts";
import { relocate } from "./relocate.ts";
import { keepsPromises, reroute } from "./reroute.ts";

interface JointSettings extends PlaceSettings {
  /** Minimum relative gain of utility for another path. @default 0.001 */
  readonly rerouteMargin: number;
  /** Minimum relative gain of throughput for moving a job's tasks. Infinity never moves. @default 0.2 */
  readonly moveMargin: number;
}

const JOINT_DEFAULTS: JointSettings = { ...PLACE_DEFAULTS, rerouteMargin: 1e-3, moveMargin: 0.2 };

const ROUNDS = 2;

export function joint(settings: Partial<JointSettings> = {}): StreamStrategy {
  const options = { ...JOINT_DEFAULTS, ...settings };
  return {
    name: "joint",
    async place(job, system): Promise<PlacedJob | null> {
      const found = placeJob(job, system, options);
      if (found === null) return null;
      const others = fillByJob(system.running, system);
      const promised = [...leastBeside(job, others), { least: job.minThroughput ?? 0 }];
      return keepsPromises(promised, found.paces) ? found.placed : null;
    },
    async share(system): Promise<readonly PlacedJob[]> {
      return fillByJob(settled(system, options), system);
    },
  };
}

function settled(system: StreamSystem, options: JointSettings): readonly PlacedJob[] {
  const { rerouteMargin: margin, moveMargin } = options;
  const rerouted = reroute(system.running, system, { rounds: ROUNDS, margin });
  return moveMargin === Infinity ? rerouted : relocate(rerouted, system, options);
}

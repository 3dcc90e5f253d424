// Reroutes running jobs: one flow at a time takes another path if total utility gains more than a margin.
import type { Flow, PlacedJob } from "../placed-job.ts";
import type { StreamSystem } from "../stream-system.ts";
import { ConnectedLoads } from "./connected.ts";
import { Filling, loadOf, loadOfJob } from "./filling.ts";
import { worthOf } from "./worth.ts";

interface RerouteSettings {
  readonly rounds: number;
  /** Minimum relative gain of utility, for stability. @default 0.001 */
  readonly margin: number;
}

/** A job near its compute limit gains nothing from another path. */
const CONTENT = 1 - 1e-6;

export function reroute(
  running: readonly PlacedJob[],
  { network, paths }: StreamSystem,
  { rounds, margin }: RerouteSettings,
): PlacedJob[] {
  const jobs = [...running];
  const filling = new Filling(network.capacities);
  let loads = jobs.map(loadOfJob);
  let connected = new ConnectedLoads(loads, network.capacities.length);
  let paces = filling.pacesOf(loads);
  let worth = worthOf(paces, loads);
  const tryPath = (at: number, flows: readonly Flow[]): Float64Array | null => {
    const { most, least, namespace } = loads[at]!;
    const after = connected.withReplaced(at, loadOf(flows, most, least, namespace), paces, filling);
    const gained = worthOf(after, loads) - worth;
    return gained > NO_GAIN + margin * Math.abs(worth) && keepsPromises(loads, after, paces) ? after : null;
  };
  for (let round = 0; round < rounds; round++) {
    let hasChanged = false;
    for (let at = 0; at < jobs.length; at++) {
      if (paces[at]! >= loads[at]!.most * CONTENT) continue;
      for (const index of jobs[at]!.flows.keys())
        for (const path of paths.choices(jobs[at]!.flows[index]!.source, jobs[at]!.flows[index]!.target)) {
          if (path === jobs[at]!.flows[index]!.path) continue;
          const flows = jobs[at]!.flows.with(index, { ...jobs[at]!.flows[index]!, path });
          const after = tryPath(at, flows);
          if (after === null) continue;
          jobs[at] = { ...jobs[at]!, flows };
          loads = loads.with(at, loadOfJob(jobs[at]!));
          connected = new ConnectedLoads(loads, network.capacities.length);
          paces = after;
          worth = worthOf(paces, loads);
          hasChanged = true;
        }
    }
    if (!hasChanged) break;
  }
  return jobs;
}

const NO_GAIN = 1e-9;
const KEPT = 1 - 1e-6;

/**
 * Whether every promised job meets its promise or at least keeps its rate.
 * @param before rates of the same jobs; beyond its end, promises must be met
 */
export function keepsPromises(
  loads: readonly { readonly least: number }[],
  paces: Float64Array,
  before: ArrayLike<number> = [],
): boolean {
  return loads.every(({ least }, at) => paces[at]! >= Math.min(least, before[at] ?? Infinity) * KEPT);
}

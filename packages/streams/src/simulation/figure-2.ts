// ENTS' motivating example (Fig. 2), reconstructed from its text: six tasks with 55 units of work, source e4,
// e1 computes 200 units per second.
import type { LinearSolver } from "@isochrone/primitives/algorithms";
import { equalShares } from "../baselines/sharing.ts";
import { FlowNetwork } from "../flow-network.ts";
import { jointRoutes, proportionalRates } from "../paper/jrba.ts";
import { computable, demandsOf, throughputOf, type Demand } from "../placed-job.ts";
import { allocationProgram } from "../proofs/allocation.ts";
import { createStreamJob, type StreamJob } from "../stream-job.ts";
import { StreamSystem } from "../stream-system.ts";

const BYTE = 1 / 8;
const SPEEDS = [200, 20, 20, 40, 20];
const MEMORY = [12, 3, 3, 4, 3];

const NODE_1 = 0;
const NODE_4 = 3;
const WHOLE = [NODE_1, NODE_1, NODE_1, NODE_1, NODE_1, NODE_1];
const PARTITIONED = WHOLE.with(0, NODE_4);
const SOLVER_MS = 60_000;

function figure2(): { system: StreamSystem; job: StreamJob } {
  const names = ["e1", "e2", "e3", "e4", "e5"];
  const links = [
    ["e4", "e2", 10],
    ["e2", "e1", 10],
    ["e4", "e3", 6],
    ["e3", "e1", 6],
    ["e1", "e5", 4],
  ] as const;
  const network = new FlowNetwork(
    names,
    links.map(([source, target, capacityBitsPerSecond]) => ({
      source,
      target,
      capacityBitsPerSecond,
      duplex: "half",
    })),
  );
  const works = { a: 5, b: 10, c: 10, d: 10, e: 10, f: 10 };
  const edges: Readonly<Record<string, readonly (readonly [string, number])[]>> = {
    a: [
      ["b", 1],
      ["c", 2],
    ],
    b: [["d", 1]],
    c: [["e", 1]],
    d: [["f", 1]],
    e: [["f", 1]],
  };
  const job = createStreamJob(
    {
      name: "figure-2",
      source: "e4",
      bytesPerFrame: 5 * BYTE,
      tasks: Object.keys(works).map((name) => ({
        name,
        memoryBytes: name === "a" ? 1 : 2,
        cpuMillicores: 1,
        downstream: (edges[name] ?? []).map(([task, volume]) => ({ task, bytesPerFrame: volume * BYTE })),
      })),
    },
    names,
    (task, node) => works[task as keyof typeof works] / SPEEDS[node]!,
  );
  const total = {
    memoryBytes: Float64Array.from(MEMORY),
    cpuMillicores: Float64Array.from(SPEEDS, () => 99),
  };
  return { system: new StreamSystem(network, total), job };
}

/** Frames per second of each step, and P1's proven optimum. */
export interface Figure2 {
  readonly whole: number;
  readonly equalShares: number;
  readonly proportional: number;
  readonly ownRoutes: number;
  readonly optimum: number;
}

/** Tasks on one node take turns. Throws unless the solver proves an optimum. */
export async function solveFigure2(solve: LinearSolver): Promise<Figure2> {
  const { system, job } = figure2();
  const { capacities } = system.network;
  const onOnePath = (hosts: readonly number[]) =>
    demandsOf(job, hosts).map((demand) => ({
      ...demand,
      path: system.paths.between(demand.source, demand.target)[0]!,
    }));
  const frames = (
    hosts: readonly number[],
    flows: readonly (Demand & { readonly bitsPerSecond: number })[],
  ): number => throughputOf(computable(job, hosts, "sum"), flows);
  const equal = (hosts: readonly number[]): number => {
    const flows = onOnePath(hosts);
    const shares = equalShares(flows, capacities);
    return frames(
      hosts,
      flows.map((flow, at) => ({ ...flow, bitsPerSecond: shares[at]! })),
    );
  };
  const routed = await jointRoutes(demandsOf(job, PARTITIONED), system.paths, capacities, {
    solve,
    ties: "shortest",
  });
  const optimum = await solve(allocationProgram(job, system, "sum").text(), SOLVER_MS);
  if (routed === null || optimum.status !== "optimal")
    throw new Error(`the solver must prove the optimum of Figure 2, it ended ${optimum.status}`);
  return {
    whole: equal(WHOLE),
    equalShares: equal(PARTITIONED),
    proportional: frames(PARTITIONED, proportionalRates(onOnePath(PARTITIONED), capacities)),
    ownRoutes: frames(PARTITIONED, routed.flows),
    optimum: 1 / optimum.bound,
  };
}

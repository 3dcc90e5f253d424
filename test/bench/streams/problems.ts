// Random networks, flows and jobs for the benchmarks of streams.
import type { LinearSolver, Draw } from "@isochrone/primitives";
import { createStreamJob, StreamSystem, type StreamJob } from "@isochrone/streams";
import { randomNetwork, videoJob } from "@isochrone/streams/simulation";
import type { Demand, RandomNetwork } from "@isochrone/streams/testing";
import highsModule from "highs";

const MEGABIT = 1e6;

export function randomSystem(nodes: number, draw: Draw): { system: StreamSystem; random: RandomNetwork } {
  const random = randomNetwork({ nodes, bitsPerSecond: MEGABIT, draw });
  return { system: new StreamSystem(random.network, random.total), random };
}

export function randomDemands(nodes: number, count: number, draw: Draw): Demand[] {
  return Array.from({ length: count }, (_, dependency) => {
    const source = Math.floor(draw() * nodes);
    const target = (source + 1 + Math.floor(draw() * (nodes - 1))) % nodes;
    return { dependency, source, target, bitsPerFrame: MEGABIT * (0.1 + draw()) };
  });
}

/** Five tasks: a chain, some with a shortcut. */
export function smallJob({ network, speeds }: RandomNetwork, draw: Draw): StreamJob {
  const tasks = Array.from({ length: 5 }, (_, at) => ({
    name: `task-${at}`,
    memoryBytes: 200 * 2 ** 20,
    cpuMillicores: 300,
    downstream: [at + 1, ...(draw() < 0.3 ? [at + 2] : [])]
      .filter((next) => next < 5)
      .map((next) => ({ task: `task-${next}`, bytesPerFrame: 1_000 + draw() * 50_000 })),
  }));
  const seconds = new Map(tasks.map(({ name }) => [name, 0.2 + draw() * 2]));
  const source = network.nodes[Math.floor(draw() * network.nodes.length)]!;
  return createStreamJob(
    { name: "small", source, bytesPerFrame: 100_000, tasks },
    network.nodes,
    (task, node) => seconds.get(task)! / speeds[node]!,
  );
}

export function videoJobs(random: RandomNetwork, count: number, draw: Draw): StreamJob[] {
  return Array.from({ length: count }, (_, at) =>
    videoJob(random, { name: `job-${at}`, source: Math.floor(draw() * random.speeds.length) }),
  );
}

// The types say CommonJS, but `import` is given the module whose default export is the loader itself.
const load = highsModule as unknown as typeof highsModule.default;

/** Proves optima up to a part of 10^-4. */
export async function prover(): Promise<LinearSolver> {
  const highs = await load();
  return async (program, timeMs) => {
    const { Status, Columns, ObjectiveValue } = highs.solve(program, {
      time_limit: timeMs / 1_000,
      mip_rel_gap: 1e-4,
    });
    if (Status !== "Optimal")
      return {
        status: Status === "Infeasible" ? "infeasible" : "unfinished",
        values: new Map(),
        bound: ObjectiveValue,
      };
    const values = Object.entries(Columns).map(([name, column]): [string, number] => [
      name,
      "Primal" in column && typeof column.Primal === "number" ? column.Primal : 0,
    ]);
    return { status: "optimal", values: new Map(values), bound: ObjectiveValue };
  };
}

export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

import type { Draw } from "@isochrone/primitives";
import type { Demand } from "../placed-job.ts";
import type { StreamJob } from "../stream-job.ts";
import { createStreamJob } from "../stream-job.ts";
import { StreamSystem } from "../stream-system.ts";
import { randomNetwork, type RandomNetwork } from "../simulation/random-network.ts";

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

export function randomJob({ network, speeds }: RandomNetwork, draw: Draw): StreamJob {
  const tasks = Array.from({ length: 5 }, (_, at) => ({
    name: `task-${at}`,
    memoryBytes: 200 * 2 ** 20,
    cpuMillicores: 300,
    downstream: [at + 1, ...(draw() < 0.3 ? [at + 2] : [])]
      .filter((next) => next < 5)
      .map((next) => ({ task: `task-${next}`, bytesPerFrame: 1_000 + draw() * 50_000 })),
  }));
  const seconds = tasks.map(() => 0.2 + draw() * 2);
  const source = network.nodes[Math.floor(draw() * network.nodes.length)]!;
  return createStreamJob(
    { name: "random", source, bytesPerFrame: 100_000, tasks },
    network.nodes,
    (task, node) => seconds[tasks.findIndex(({ name }) => name === task)]! / speeds[node]!,
  );
}

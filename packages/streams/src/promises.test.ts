// ENTS' algorithms, run like the controller's, keep promises and fit shrinking links.
import { describe, expect, test } from "vitest";
import { FlowNetwork } from "./flow-network.ts";
import { otfa } from "./paper/otfa.ts";
import { otfs } from "./paper/otfs.ts";
import { keepingPromises } from "./promises.ts";
import { schedule, type StreamStrategy } from "./strategy.ts";
import { createStreamJob, type StreamJob } from "./stream-job.ts";
import { StreamSystem } from "./stream-system.ts";
import { testSolver } from "./testing/solver.ts";

const NODES = ["camera", "server"];
const solve = await testSolver();
const STRATEGIES: readonly StreamStrategy[] = [
  keepingPromises(otfs({ solve, withoutBandwidth: "wait" })),
  keepingPromises(otfa({ solve, repaired: true })),
];

function job(name: string, minThroughput: number | null = null): StreamJob {
  const tasks = [{ name: "work", memoryBytes: 1, cpuMillicores: 1 }];
  const spec = { name, source: "camera", bytesPerFrame: 125_000, tasks, minThroughput };
  return createStreamJob(spec, NODES, (_, node) => (node === 1 ? 0.01 : null));
}

function systemOf(bitsPerSecond: number): StreamSystem {
  const links = [{ source: "camera", target: "server", capacityBitsPerSecond: bitsPerSecond }];
  const total = { memoryBytes: Float64Array.of(9, 9), cpuMillicores: Float64Array.of(9, 9) };
  return new StreamSystem(new FlowNetwork(NODES, links), total);
}

const pacesOf = ({ running }: StreamSystem): number[] =>
  running.map(({ throughput }) => Number(throughput.toFixed(3)));

describe.each(STRATEGIES)("$name", (strategy) => {
  test("lets a job wait that would break a promise, and admits one that wouldn't", async () => {
    const system = systemOf(20e6);
    const first = job("first", 12);
    expect(await schedule(strategy, system, [first], false)).toEqual([]);
    const second = job("second", 12);
    expect(await schedule(strategy, system, [second], false)).toEqual([second]);
    expect(pacesOf(system)).toEqual([20]);
    expect(system.remove(first)).toBe(true);
    expect(await schedule(strategy, system, [second], true)).toEqual([]);
    expect(pacesOf(system)).toEqual([20]);
  });

  test("keeps within a link that shrinks, promises first, and uses one that grows", async () => {
    const system = systemOf(20e6);
    const promised = job("promised", 8);
    system.add({ ...(await placedAt(strategy, promised, system, 10)), throughput: 10 });
    system.add({ ...(await placedAt(strategy, job("other"), systemOf(20e6), 10)), throughput: 10 });
    const capacities = [10e6, 24e6, 6e6];
    const paces: number[][] = [];
    for (const capacity of capacities) {
      system.changeNetwork(system.network.withCapacities(new Float64Array(2).fill(capacity)));
      system.update(await strategy.share(system, "changed"));
      paces.push(pacesOf(system));
    }
    expect(paces).toEqual([
      [8, 2],
      [12, 12],
      [6, 0],
    ]);
  });
});

async function placedAt(
  strategy: StreamStrategy,
  one: StreamJob,
  system: StreamSystem,
  pace: number,
): Promise<StreamSystem["running"][number]> {
  const placed = (await strategy.place(one, system))!;
  const flows = placed.flows.map((flow) => ({ ...flow, bitsPerSecond: flow.bitsPerFrame * pace }));
  return { ...placed, flows };
}

import { describe, expect, test } from "vitest";
import { FlowNetwork } from "../flow-network.ts";
import type { PlacedJob } from "../placed-job.ts";
import { restoredJob } from "../restore.ts";
import { createStreamJob, type StreamJob } from "../stream-job.ts";
import { StreamSystem } from "../stream-system.ts";
import { bestTaskMove } from "./task-move.ts";

const NODES = ["source", "slow", "fast", "far"];
const SPEED: Readonly<Record<string, number>> = { source: 1, slow: 1, fast: 4, far: 4 };

function network(toFast: number): FlowNetwork {
  return new FlowNetwork(NODES, [
    { source: "source", target: "slow", capacityBitsPerSecond: 1e8 },
    { source: "source", target: "fast", capacityBitsPerSecond: toFast },
    { source: "fast", target: "far", capacityBitsPerSecond: 1e4 },
  ]);
}

function job(name: string, minThroughput: number | null = null): StreamJob {
  const task = (of: string, downstream: object[] = []) => ({
    name: of,
    memoryBytes: 1,
    cpuMillicores: 1,
    downstream: downstream as { task: string; bytesPerFrame: number }[],
  });
  const tasks = [task("decode", [{ task: "detect", bytesPerFrame: 125_000 }]), task("detect")];
  return createStreamJob(
    { name, source: "source", bytesPerFrame: 125_000, tasks, minThroughput },
    NODES,
    (of, node) => (of === "detect" ? 1 : 0.1) / SPEED[NODES[node]!]!,
  );
}

function systemWith(
  toFast: number,
  room: number,
  jobs: readonly (readonly [StreamJob, readonly number[]])[],
) {
  const free = Float64Array.of(9, 9, room, 9);
  const system = new StreamSystem(network(toFast), { memoryBytes: free, cpuMillicores: free });
  for (const [each, hosts] of jobs) system.add(restoredJob(each, hosts, () => null, system) as PlacedJob);
  return system;
}

const movable = (of: StreamJob, tasks = [0, 1]) => [{ running: 0, job: of, tasks }];

describe("a move of one task", () => {
  const slow = job("slow");
  const onSlow = [slow, [0, 1]] as const;

  test("goes to where the job gains most, and names what it gains", () => {
    const move = bestTaskMove(systemWith(1e8, 9, [onSlow]), movable(slow), 0.2);
    expect(move).toEqual({ running: 0, task: 1, node: 2, before: 1, after: 4 });
  });

  test("isn't made for less than the margin, of a task that stays, or to a node without room", () => {
    expect(bestTaskMove(systemWith(1e8, 9, [onSlow]), movable(slow), 3.1)).toBeNull();
    expect(bestTaskMove(systemWith(1e8, 9, [onSlow]), movable(slow, [0]), 0.2)).toBeNull();
    expect(bestTaskMove(systemWith(1e8, 0, [onSlow]), movable(slow), 0.2)).toBeNull();
  });

  test("counts what the links allow", () => {
    const move = bestTaskMove(systemWith(1.1e6, 9, [onSlow]), movable(slow), 0.2);
    expect(move).toBeNull();
    expect(bestTaskMove(systemWith(1.5e6, 9, [onSlow]), movable(slow), 0.2)?.after).toBeCloseTo(1.5);
  });

  test("breaks no promise of another job", () => {
    const promised = [job("promised", 4), [2, 2]] as const;
    expect(bestTaskMove(systemWith(4.2e6, 9, [onSlow, promised]), movable(slow), 0.2)).toBeNull();
  });
});

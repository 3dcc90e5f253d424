import { describe, expect, test } from "vitest";
import { FlowNetwork } from "./flow-network.ts";
import { joint } from "./joint/joint.ts";
import { limitOf } from "./limit.ts";
import { schedule } from "./strategy.ts";
import { createStreamJob } from "./stream-job.ts";
import { StreamSystem } from "./stream-system.ts";

const NAMES = ["camera", "far"];
const KB = 125;

async function limitWith(bitsPerSecond: number) {
  const network = new FlowNetwork(NAMES, [
    { source: "camera", target: "far", capacityBitsPerSecond: bitsPerSecond },
  ]);
  const total = { memoryBytes: Float64Array.of(0, 10), cpuMillicores: Float64Array.of(0, 10) };
  const system = new StreamSystem(network, total);
  const task = { name: "detect", memoryBytes: 1, cpuMillicores: 1 };
  const job = createStreamJob(
    { name: "j", source: "camera", bytesPerFrame: KB, tasks: [task] },
    NAMES,
    () => 0.1,
  );
  await schedule(joint(), system, [job], false);
  const [placed] = system.running;
  return { throughput: placed!.throughput, limit: limitOf(placed!, system) };
}

describe("limitOf", () => {
  test("names the slowest task where links have room", async () => {
    expect(await limitWith(1e6)).toEqual({ throughput: 10, limit: { kind: "task", task: 0, node: 1 } });
  });

  test("names the hop that is full", async () => {
    expect(await limitWith(4_000)).toEqual({
      throughput: 4,
      limit: { kind: "link", flow: 0, source: 0, target: 1, capacityBitsPerSecond: 4_000 },
    });
  });
});

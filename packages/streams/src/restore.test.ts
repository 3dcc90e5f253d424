import { describe, expect, test } from "vitest";
import { FlowNetwork } from "./flow-network.ts";
import { joint } from "./joint/joint.ts";
import { PathTable } from "./paths.ts";
import { restoredJob } from "./restore.ts";
import { createStreamJob } from "./stream-job.ts";
import { schedule } from "./strategy.ts";
import { StreamSystem } from "./stream-system.ts";

const NODES = ["camera", "relay", "server"];
const LINKS = [
  { source: "camera", target: "server", capacityBitsPerSecond: 1e6 },
  { source: "camera", target: "relay", capacityBitsPerSecond: 8e6 },
  { source: "relay", target: "server", capacityBitsPerSecond: 8e6 },
];
const TOTAL = { memoryBytes: Float64Array.of(1, 1, 1), cpuMillicores: Float64Array.of(1, 1, 1) };

function jobOn(host: string): ReturnType<typeof createStreamJob> {
  const task = { name: "detect", memoryBytes: 0, cpuMillicores: 0 };
  const spec = { name: "site/gate", source: "camera", bytesPerFrame: 1e6, tasks: [task] };
  return createStreamJob(spec, NODES, (_, node) => (NODES[node] === host ? 0.1 : null));
}

function systemOf(links = LINKS): StreamSystem {
  const network = new FlowNetwork(NODES, links);
  return new StreamSystem(network, TOTAL, new PathTable(network));
}

describe("a job that is restored", () => {
  test("is as it was placed", async () => {
    const job = jobOn("server");
    const before = systemOf();
    await schedule(joint(), before, [job], false);
    const [placed] = before.running;
    const route = placed!.flows[0]!.path.nodes.map((node) => NODES[node]!);
    expect(route).toEqual(["camera", "relay", "server"]);
    const { bitsPerSecond } = placed!.flows[0]!;
    expect(restoredJob(job, placed!.hosts, () => ({ route, bitsPerSecond }), systemOf())).toEqual(placed);
  });

  test("takes the shortest path where its route is gone, and is null without any", () => {
    const job = jobOn("server");
    const remembered = (): { route: string[]; bitsPerSecond: number } => ({
      route: ["camera", "relay", "server"],
      bitsPerSecond: 8e6,
    });
    const restored = restoredJob(job, [2], remembered, systemOf(LINKS.slice(0, 2)));
    expect(restored!.flows[0]!.path.nodes).toEqual([0, 2]);
    expect(restoredJob(job, [2], remembered, systemOf([]))).toBeNull();
  });

  test("without a memory has paths and no rates", () => {
    expect(restoredJob(jobOn("server"), [2], () => null, systemOf())).toMatchObject({
      throughput: 0,
      flows: [{ bitsPerSecond: 0 }],
    });
  });
});

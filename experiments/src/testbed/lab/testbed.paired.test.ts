// Checks the lab against its settings: no packet is faster than its link, and changes show.
// test/experiments/validate.ts compares lab and model on a quiet machine.
import { describe, expect, it, onTestFinished } from "vitest";
import type { Point } from "../../scenario/model.ts";
import type { Running } from "../port.ts";
import { callTo, placed, pointOf, workloadOf } from "../testing/points.ts";
import { createLabTestbed } from "./testbed.ts";
import { bestLinks, LINK_KINDS } from "./links.ts";
import type { LinkKind } from "./links.ts";

/** Factor that a busy machine may take longer. */
const BUSY = 6;

const mean = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length;

async function start(
  point: Point,
  pods: Record<string, string[]>,
  scale: number,
  links: LinkKind = "relay",
): Promise<Running> {
  const settings = { scale, only: [], durationSeconds: 10, trials: 1 };
  const ground = await createLabTestbed(settings, { links });
  const running = await ground.start(point, placed(pods), 5, new AbortController().signal);
  onTestFinished(async () => {
    await running.stop();
    await ground.close();
  });
  return running;
}

const pair = (probability: number) => [
  workloadOf("a", {
    cpuMs: 4,
    calls: [callTo("b", { probability, requestBytes: 100, responseBytes: 3_000 })],
  }),
  workloadOf("b", { cpuMs: 8 }),
];

describe("the lab", () => {
  it.each(LINK_KINDS)("carries a workflow over links of kind %s, and observes it", async (links) => {
    if (links === "namespaces" && (await bestLinks()) !== links) return;
    const point = pointOf({ workloads: pair(1), cores: [1, 1], rttMs: 25, load: { users: 20 } });
    const running = await start(point, { n1: ["a-0"], n2: ["b-0"] }, 4, links);
    const { responseMs, failed } = await running.run(8);
    expect(failed).toBe(0);
    expect(responseMs).toHaveLength(40);
    expect(mean(responseMs)).toBeGreaterThan(37);
    expect(mean(responseMs)).toBeLessThan(37 * BUSY);
    const { use, traffic } = running.observe();
    expect(use.get("b")!.cpuMillicores / 160).toBeCloseTo(1, 0);
    expect(traffic).toHaveLength(1);
    expect(traffic[0]!.requestsPerSecond / 20).toBeCloseTo(1, 0);
    expect(traffic[0]!.bytesPerSecond / traffic[0]!.requestsPerSecond).toBeCloseTo(3_100, -2);
  });

  it("sees what a moved pod says while its predecessor takes its counters away", async () => {
    const point = pointOf({ workloads: pair(1), cores: [1, 1], rttMs: 20, load: { users: 20 } });
    const running = await start(point, { n1: ["a-0"], n2: ["b-0"] }, 4);
    await running.run(8);
    await running.move([{ pod: "a-0", from: "n1", to: "n2" }]);
    await running.run(2);
    // The old pod had counted at least 40; its replacement counts 30.
    await running.run(6);
    expect(running.observe().traffic[0]!.requestsPerSecond).toBeGreaterThan(5);
  });

  it("counts users' way, follows changes of latency and calls, and moves pods", async () => {
    const changes = [
      { kind: "region-latency", atSeconds: 0, region: "r2", factor: 3 },
      { kind: "call-probability", atSeconds: 6, caller: "a", callee: "b", probability: 0.001 },
    ] as const;
    const point = pointOf({ workloads: pair(1), cores: [1, 1], rttMs: 20, usersAt: "n2", changes });
    const running = await start(point, { n1: ["a-0"], n2: ["b-0"] }, 2);
    const before = mean((await running.run(3)).responseMs);
    expect(before).toBeGreaterThan(52);
    expect(before).toBeLessThan(52 * BUSY);
    running.beginChanges();
    await running.run(1);
    const slow = mean((await running.run(4)).responseMs);
    expect(slow).toBeGreaterThan(132);
    expect(running.observe().cluster.rttMs[0]![1]).toBe(60);
    await running.run(2);
    expect(mean((await running.run(3)).responseMs)).toBeLessThan(slow);
    await running.move([{ pod: "a-0", from: "n1", to: "n2" }]);
    await running.run(6);
    const after = await running.run(3);
    expect(after.failed).toBe(0);
    expect(mean(after.responseMs)).toBeLessThan(slow / 2);
  });

  it("loses what a dead node held, and has it again once it is placed anew", async () => {
    const changes = [{ kind: "node-down", atSeconds: 0, node: "n2" }] as const;
    const point = pointOf({ workloads: pair(1), cores: [1, 1], rttMs: 5, changes });
    const running = await start(point, { n1: ["a-0"], n2: ["b-0"] }, 2);
    expect((await running.run(2)).failed).toBe(0);
    running.beginChanges();
    await running.run(2);
    expect((await running.run(2)).responseMs).toHaveLength(0);
    expect(running.observe().cluster.nodes.map(({ name }) => name)).toEqual(["n1"]);
    await running.move([{ pod: "b-0", from: "n2", to: "n1" }]);
    await running.run(4);
    expect((await running.run(2)).failed).toBe(0);
  });
});

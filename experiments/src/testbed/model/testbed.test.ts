import { assert, asyncProperty, integer, property } from "fast-check";
import { describe, expect, it } from "vitest";
import type { Point } from "../../scenario/model.ts";
import type { Running } from "../port.ts";
import { callTo, fiveWorkloads, placed, pointOf, workloadOf } from "../testing/points.ts";
import { createModelTestbed, REPLACE_MS } from "./testbed.ts";
import { planOf } from "./plan.ts";
import { Simulation } from "./simulation.ts";

const PODS = { n1: ["m0-0", "m1-0"], n2: ["m2-0", "m3-0"], n3: ["m4-0"] };

const start = (
  point: Point,
  pods: Record<string, readonly string[]> = PODS,
  hopMs = 0,
  seed = 1,
): Promise<Running> =>
  createModelTestbed({ hopMs }).start(point, placed(pods), seed, new AbortController().signal);

const mean = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length;

describe("the model of a workflow", () => {
  it("answers a lone request in the time of the critical path", async () => {
    const rttMs = [
      [0, 20, 60],
      [20, 0, 40],
      [60, 40, 0],
    ];
    const point = pointOf({ workloads: fiveWorkloads(3), cores: [2, 2, 2], rttMs, load: { users: 1 } });
    const running = await start(point, PODS, 0.5);
    const { responseMs } = await running.run(5);
    // m0 (n1) - 20 -> m2 (n2) - 40 -> m4 (n3): three times 3 ms of work, and half hops of three calls and the
    // user's.
    expect(responseMs).toHaveLength(5);
    for (const time of responseMs) expect(time).toBeCloseTo(9 + 20 + 40 + 6 * 0.5, 6);
  });

  it("counts users' way where users are somewhere", async () => {
    const workloads = [workloadOf("a", { cpuMs: 1 })];
    const point = pointOf({ workloads, cores: [1, 1], rttMs: 30, load: { users: 1 }, usersAt: "n2" });
    const { responseMs } = await (await start(point, { n1: ["a-0"] })).run(2);
    expect(responseMs[0]).toBeCloseTo(31, 6);
  });

  it("gives the same numbers for the same seed, others for another", async () => {
    const point = pointOf({
      workloads: fiveWorkloads(5, "exponential"),
      cores: [1, 1, 1],
      load: { users: 40 },
    });
    const [a, b, c] = await Promise.all(
      [1, 1, 2].map(async (seed) => (await start(point, PODS, 0, seed)).run(20)),
    );
    expect(a!.responseMs).toEqual(b!.responseMs);
    expect(a!.responseMs).not.toEqual(c!.responseMs);
  });

  it("observes what was sent: rates, bytes both ways, CPU", async () => {
    const workloads = [
      workloadOf("a", {
        cpuMs: 2,
        calls: [callTo("b", { probability: 0.25, requestBytes: 100, responseBytes: 900 })],
      }),
      workloadOf("b", { cpuMs: 10, replicas: 2 }),
    ];
    const point = pointOf({ workloads, cores: [2, 2], load: { users: 100 } });
    const running = await start(point, { n1: ["a-0"], n2: ["b-0", "b-1"] });
    await running.run(200);
    const { use, traffic } = running.observe();
    expect(use.get("a")!.cpuMillicores).toBeCloseTo(200, 0);
    expect(use.get("b")!.cpuMillicores / 125).toBeCloseTo(1, 1);
    expect(traffic).toHaveLength(1);
    expect(traffic[0]!.requestsPerSecond / 25).toBeCloseTo(1, 1);
    expect(traffic[0]!.bytesPerSecond / traffic[0]!.requestsPerSecond).toBeCloseTo(1000, 6);
  });

  it.each([
    ["n2", 40],
    [undefined, 0],
  ] as const)("observes the ingress where users come in (%s)", async (usersAt, perSecond) => {
    const workloads = [
      workloadOf("a", { cpuMs: 1, calls: [callTo("b", { requestBytes: 100, responseBytes: 900 })] }),
      workloadOf("b", { cpuMs: 1 }),
    ];
    const load = { users: 40 };
    const point = pointOf({ workloads, cores: [2, 2], load, ...(usersAt === undefined ? {} : { usersAt }) });
    const running = await start(point, { n1: ["a-0"], n2: ["b-0"] });
    await running.run(10);
    await running.run(50);
    const ingress = running.observe().traffic.filter(({ source }) => source === "users");
    expect(ingress).toHaveLength(perSecond === 0 ? 0 : 1);
    for (const { target, requestsPerSecond, bytesPerSecond } of ingress) {
      expect(target).toBe("a");
      expect(requestsPerSecond / perSecond).toBeCloseTo(1, 1);
      expect(bytesPerSecond / requestsPerSecond).toBeCloseTo(1000, 6);
    }
  });

  it("observes several calls of a pair as one channel, and changes all of them", async () => {
    const call = callTo("b", { requestBytes: 100, responseBytes: 900 });
    const workloads = [
      workloadOf("a", { cpuMs: 1, calls: [call, call, call] }),
      workloadOf("b", { cpuMs: 1 }),
    ];
    const changes = [
      { kind: "call-probability", atSeconds: 0, caller: "a", callee: "b", probability: 0.1 },
    ] as const;
    const point = pointOf({ workloads, cores: [2, 2], load: { users: 40 }, changes });
    const running = await start(point, { n1: ["a-0"], n2: ["b-0"] });
    await running.run(10);
    await running.run(50);
    const [before, ...others] = running.observe().traffic;
    expect(others).toEqual([]);
    expect(before!.requestsPerSecond / 120).toBeCloseTo(1, 1);
    expect(before!.bytesPerSecond / before!.requestsPerSecond).toBeCloseTo(1000, 6);
    running.beginChanges();
    await running.run(10);
    await running.run(100);
    expect(running.observe().traffic[0]!.requestsPerSecond / 12).toBeCloseTo(1, 0);
  });

  it("lets a stretch last as long as it says when pods are moved after one that ended late", async () => {
    const workloads = [workloadOf("a", { cpuMs: 30 })];
    const point = pointOf({ workloads, cores: [1, 1], load: { users: 100 } });
    const running = await start(point, { n1: ["a-0"] });
    await running.run(5);
    await running.move([{ pod: "a-0", from: "n1", to: "n2" }]);
    await running.run(2);
    const { traffic, use } = running.observe();
    expect(traffic).toEqual([]);
    expect(use.get("a")!.cpuMillicores).toBeLessThanOrEqual(1010);
    expect(use.get("a")!.cpuMillicores).toBeGreaterThan(0);
  });

  it("has every request answered or failed, and forgets none under overload", async () => {
    const point = pointOf({ workloads: [workloadOf("a", { cpuMs: 20 })], cores: [1], load: { users: 100 } });
    const running = await start(point, { n1: ["a-0"] });
    const stretches = [await running.run(10), await running.run(10), await running.run(10)];
    for (const { responseMs, failed } of stretches) expect(responseMs.length + failed).toBe(1000);
    expect(stretches[2]!.failed).toBeGreaterThan(900);
  });

  it("fails what a dead node held, and recovers with the pod's successor", async () => {
    const changes = [{ kind: "node-down", atSeconds: 5, node: "n2" }] as const;
    const point = pointOf({ workloads: fiveWorkloads(1), cores: [2, 2, 2], rttMs: 10, changes });
    const running = await start(point);
    await running.run(5);
    running.beginChanges();
    // One request may have been in progress at the failure.
    expect((await running.run(5)).failed).toBeLessThanOrEqual(1);
    expect((await running.run(5)).failed).toBe(50);
    expect(running.observe().cluster.nodes.map(({ name }) => name)).toEqual(["n1", "n3"]);
    await running.move(["m2-0", "m3-0"].map((pod) => ({ pod, from: "n2", to: "n1" })));
    await running.run((2 * REPLACE_MS) / 1000 + 1);
    const after = await running.run(5);
    expect(after.failed).toBe(0);
    expect(after.responseMs).toHaveLength(50);
  });

  it("answers nothing while its only pod moves, and from the new node afterwards", async () => {
    const point = pointOf({
      workloads: [workloadOf("a", { cpuMs: 1 })],
      cores: [1, 1],
      rttMs: 50,
      usersAt: "n1",
    });
    const running = await start(point, { n1: ["a-0"] });
    await running.run(1);
    await running.move([{ pod: "a-0", from: "n1", to: "n2" }]);
    const during = await running.run(REPLACE_MS / 1000);
    expect(during.responseMs.length).toBeLessThanOrEqual(1);
    const { responseMs, failed } = await running.run(2);
    expect(failed).toBe(0);
    expect(mean(responseMs)).toBeGreaterThan(50);
  });

  it("doubles a region's latency and shifts traffic when told", async () => {
    const workloads = [
      workloadOf("a", { calls: [callTo("b", { probability: 1 }), callTo("c", { probability: 0.001 })] }),
      workloadOf("b"),
      workloadOf("c"),
    ];
    const changes = [
      { kind: "region-latency", atSeconds: 5, region: "r2", factor: 3 },
      { kind: "call-probability", atSeconds: 15, caller: "a", callee: "b", probability: 0.001 },
    ] as const;
    const point = pointOf({ workloads, cores: [2, 2], rttMs: 40, changes });
    const running = await start(point, { n1: ["a-0", "c-0"], n2: ["b-0"] });
    running.beginChanges();
    expect(mean((await running.run(5)).responseMs)).toBeLessThan(44);
    expect(mean((await running.run(10)).responseMs)).toBeGreaterThan(115);
    expect(running.observe().cluster.rttMs[0]![1]).toBe(120);
    expect(mean((await running.run(10)).responseMs)).toBeLessThan(15);
  });

  it("says which pod has no place", async () => {
    const point = pointOf({ workloads: [workloadOf("a")], cores: [1] });
    await expect(async () => start(point, {})).rejects.toThrow("pod a-0 must be placed");
  });

  it("loses no request: all calls end, and as many are made as the workflow has (property)", () => {
    assert(
      property(integer({ min: 1, max: 60 }), integer({ min: 0, max: 300 }), integer(), (users, rtt, seed) => {
        const point = pointOf({
          workloads: fiveWorkloads(4, "exponential"),
          cores: [1, 2, 1],
          rttMs: rtt,
          load: { users },
        });
        const plan = planOf(point, placed(PODS));
        const delayMs = Float64Array.from(point.cluster.rttMs.flat(), (rttMs) => rttMs / 2);
        const simulation = new Simulation({ plan, load: point.load, delayMs, seed });
        simulation.requests.openWindow(5_000);
        simulation.run(5_000, true, Infinity);
        const { responseMs, failed } = simulation.requests.closeWindow();
        expect(responseMs.length + failed).toBe(users * 5);
        expect(simulation.openCalls).toBeLessThanOrEqual(7 * (simulation.requests.sent - users * 5));
        for (const edge of [0, 1])
          expect(simulation.counts.requests[edge]).toBeGreaterThanOrEqual(responseMs.length);
      }),
      { numRuns: 30 },
    );
  });

  it("is never faster over longer ways (property)", async () => {
    await assert(
      asyncProperty(integer({ min: 0, max: 100 }), integer({ min: 1, max: 100 }), async (rttMs, moreMs) => {
        const at = async (rtt: number): Promise<number> => {
          const point = pointOf({
            workloads: fiveWorkloads(2),
            cores: [1, 1, 1],
            rttMs: rtt,
            load: { users: 5 },
          });
          return mean((await (await start(point)).run(10)).responseMs);
        };
        expect(await at(rttMs + moreMs)).toBeGreaterThan(await at(rttMs));
      }),
      { numRuns: 20 },
    );
  });
});

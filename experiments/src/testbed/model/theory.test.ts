// Compares the model with exact queueing theory. Many users with long periods approximate a Poisson process.
import { describe, expect, it } from "vitest";
import type { Point } from "../../scenario/model.ts";
import { callTo, placed, pointOf, workloadOf } from "../testing/points.ts";
import { createModelTestbed } from "./testbed.ts";
import { planOf } from "./plan.ts";
import { Simulation } from "./simulation.ts";

/** Enough that hardly any user sends twice, because periods repeat their pattern. */
const USERS = 300_000;
const SECONDS = 1_500;

const poisson = (perSecond: number) => ({ users: USERS, requestsPerSecondPerUser: perSecond / USERS });

async function responses(
  point: Point,
  pods: Record<string, string[]>,
  seconds = SECONDS,
): Promise<Float64Array> {
  const ground = createModelTestbed({ hopMs: 0 });
  const running = await ground.start(point, placed(pods), 7, new AbortController().signal);
  await running.run(20);
  return (await running.run(seconds)).responseMs;
}

const mean = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const quantile = (values: Float64Array, q: number): number =>
  values.toSorted()[Math.floor(q * values.length)]!;

describe("the model and queueing theory", () => {
  it.each([0.3, 0.6, 0.8])(
    "M/M/1 at utilisation %f: mean 1/(mu - lambda), exponential sojourn",
    async (rho) => {
      const serviceMs = 5;
      const point = pointOf({
        workloads: [workloadOf("a", { cpuMs: serviceMs, cpuSpread: "exponential" })],
        cores: [2],
        load: poisson((rho * 1000) / serviceMs),
      });
      const times = await responses(point, { n1: ["a-0"] });
      const expected = serviceMs / (1 - rho);
      expect(Math.abs(mean(times) / expected - 1)).toBeLessThan(0.04);
      expect(Math.abs(quantile(times, 0.95) / (expected * Math.log(20)) - 1)).toBeLessThan(0.06);
    },
  );

  it.each([0.5, 0.8])("M/D/1 at utilisation %f: Pollaczek and Khinchine's waiting time", async (rho) => {
    const serviceMs = 4;
    const point = pointOf({
      workloads: [workloadOf("a", { cpuMs: serviceMs })],
      cores: [1],
      load: poisson((rho * 1000) / serviceMs),
    });
    const times = await responses(point, { n1: ["a-0"] });
    const expected = serviceMs + (rho * serviceMs) / (2 * (1 - rho));
    expect(Math.abs(mean(times) / expected - 1)).toBeLessThan(0.03);
  });

  it.each(["fixed", "exponential"] as const)(
    "processor sharing between pods, %s work: s/(1 - rho)",
    async (spread) => {
      const serviceMs = 5;
      const rho = 0.6;
      // So many pods that requests rarely meet in one, which isolates CPU sharing of the node.
      const replicas = 200;
      const point = pointOf({
        workloads: [workloadOf("a", { cpuMs: serviceMs, cpuSpread: spread, replicas })],
        cores: [1],
        load: poisson((rho * 1000) / serviceMs),
      });
      const times = await responses(
        point,
        { n1: Array.from({ length: replicas }, (_, i) => `a-${i}`) },
        1000,
      );
      expect(Math.abs(mean(times) / (serviceMs / (1 - rho)) - 1)).toBeLessThan(0.04);
    },
  );

  it("two queues one after the other: the sum of two M/M/1 (Burke)", async () => {
    const serviceMs = 5;
    const rho = 0.5;
    const work = { cpuMs: serviceMs, cpuSpread: "exponential" } as const;
    const point = pointOf({
      workloads: [workloadOf("a", { ...work, calls: [callTo("b")] }), workloadOf("b", work)],
      cores: [1, 1],
      load: poisson((rho * 1000) / serviceMs),
    });
    const times = await responses(point, { n1: ["a-0"], n2: ["b-0"] });
    expect(Math.abs(mean(times) / ((2 * serviceMs) / (1 - rho)) - 1)).toBeLessThan(0.04);
  });

  it("Little's law: those inside are the rate times the mean stay", () => {
    const perSecond = 120;
    const point = pointOf({
      workloads: [workloadOf("a", { cpuMs: 5, cpuSpread: "exponential" })],
      cores: [1],
      load: poisson(perSecond),
    });
    const plan = planOf(point, placed({ n1: ["a-0"] }));
    const simulation = new Simulation({ plan, load: point.load, delayMs: new Float64Array(1), seed: 3 });
    const endMs = 600_000;
    simulation.requests.openWindow(endMs);
    let inside = 0;
    for (let atMs = 10; atMs <= endMs; atMs += 10) {
      simulation.run(atMs, false, Infinity);
      inside += simulation.openCalls;
    }
    const times = simulation.requests.closeWindow().responseMs;
    expect(inside / (endMs / 10) / ((times.length / endMs) * mean(times))).toBeCloseTo(1, 2);
  });

  it("a node of half a core takes twice as long", async () => {
    const point = pointOf({ workloads: [workloadOf("a", { cpuMs: 7 })], cores: [0.5], load: { users: 1 } });
    const times = await responses(point, { n1: ["a-0"] }, 10);
    for (const time of times) expect(time).toBeCloseTo(14, 6);
  });
});

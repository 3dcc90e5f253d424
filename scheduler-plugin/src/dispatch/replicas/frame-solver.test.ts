import { seeded } from "@isochrone/primitives";
import { systemClock } from "@isochrone/runtime";
import { describe, expect, onTestFinished, test } from "vitest";
import { ReplicaLoad } from "../../testing/replica-load.ts";
import { problemOf, wantsOf, type FrameProblem } from "./frame-messages.ts";
import { FrameSolver } from "./frame-solver.ts";

function problem(services = 30, zones = 4): FrameProblem {
  const draw = seeded(4);
  const each = <T>(make: () => T): T[] => Array.from({ length: zones }, make);
  const rows = Array.from({ length: services }, (_, at) => ({
    perSecond: each(() => (draw() < 0.2 ? 0 : 400 * draw())),
    replicas: each(() => Math.floor(4 * draw())),
    isOpen: each(() => draw() < 0.8),
    capacityPerSecond: 50 + 100 * draw(),
    deadlineMs: at % 2 === 0 ? null : 30,
  }));
  const rttMs = (from: number, to: number): number =>
    from + to === 3 ? Number.NaN : 12 * Math.abs(from - to);
  return problemOf(rows, { zones, rttMs, least: { replicas: 2, zones: 2 } });
}

function solverBy(options: Partial<ConstructorParameters<typeof FrameSolver>[0]> = {}): FrameSolver {
  const solver = new FrameSolver({ clock: systemClock, ...options });
  onTestFinished(() => solver.close());
  return solver;
}

const threadOf = (text: string): URL => new URL(`data:text/javascript,${encodeURIComponent(text)}`);
const DIES = threadOf("process.exit(3)");
const HANGS = threadOf(
  'import { parentPort } from "node:worker_threads"; parentPort.on("message", () => {});',
);

describe("the arithmetic of a frame", () => {
  test("comes out of a thread as it does here", async () => {
    const asked = problem();
    const here = await solverBy().solve(asked);
    const there = await solverBy({ inlinePairs: 0 }).solve(asked);
    expect(there).toEqual(here);
    if (here === null || typeof here === "string") throw new Error("must have a solution");
    const wants = [...wantsOf(asked, here)];
    expect(wants).toHaveLength(30);
    expect(wants.some(({ adds, removes }) => adds.length > 1 && removes.length > 0)).toBe(true);
    for (const [at, { adds, wanted, inTimeRatio }] of wants.entries()) {
      expect(wanted).toHaveLength(4);
      for (const { zone } of adds) expect(asked.isOpen[at * 4 + zone]).toBe(1);
      for (const [zone, ratio] of inTimeRatio.entries())
        expect(ratio === null).toBe(asked.perSecond[at * 4 + zone] === 0);
    }
  });

  test("is given up when the thread dies, and when it is closed", async () => {
    const dying = solverBy({ inlinePairs: 0, threadUrl: DIES });
    for (let time = 0; time < 2; time++) expect(await dying.solve(problem())).toMatch(/thread .* died/);
    const hanging = solverBy({ inlinePairs: 0, threadUrl: HANGS });
    const asked = hanging.solve(problem());
    expect(await hanging.solve(problem())).toMatch(/frame before/);
    await hanging.close();
    expect(await asked).toBeNull();
  });
});

describe("frames of many Services", () => {
  const shape = { services: 40, zones: 5, nodesPerZone: 2, rate: () => 150 };

  test("are worked out in the thread, one after the other", async () => {
    const load = new ReplicaLoad({ ...shape, solver: solverBy({ inlinePairs: 0 }) });
    onTestFinished(() => load.stop());
    for (let frame = 0; frame < 2; frame++) {
      const { trouble, services } = await load.frame();
      expect(trouble).toBeNull();
      expect(services).toHaveLength(40);
      expect(services.every(({ wanted, replicas }) => wanted! > replicas!)).toBe(true);
    }
  });

  test("tell nothing while the thread dies, and say so", async () => {
    const load = new ReplicaLoad({ ...shape, solver: solverBy({ inlinePairs: 0, threadUrl: DIES }) });
    onTestFinished(() => load.stop());
    for (let frame = 0; frame < 2; frame++)
      expect(await load.frame()).toMatchObject({
        trouble: expect.stringContaining("died") as string,
        frameAt: null,
        services: [],
      });
  });

  test("end at once with the scheduler-plugin, though the thread hangs", async () => {
    const load = new ReplicaLoad({ ...shape, solver: solverBy({ inlinePairs: 0, threadUrl: HANGS }) });
    const frame = Promise.allSettled([load.frame()]);
    await systemClock.sleep(20);
    await load.stop();
    expect(await frame).toMatchObject([{ status: "rejected" }]);
  });
});

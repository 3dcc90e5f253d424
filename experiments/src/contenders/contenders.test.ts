import { seededRandom } from "@isochrone/runtime";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Point, PointNode, PointWorkload } from "../scenario/model.ts";
import { CONTENDERS } from "../scenario/model.ts";
import type { ContenderId } from "../scenario/model.ts";
import { createContender } from "./index.ts";
import { ContenderError } from "./port.ts";
import type { Observation, Placement } from "./port.ts";
import { podsOf } from "./pods.ts";
import { aCluster, aNode, aPoint, aWorkload, DEPS, MI, observed } from "./testing/points.ts";

const RUNS = 40;
/** Effort of contenders that search long. */
const SEARCHES = 8;
const ROUNDS = 4;

/** Clusters of 2 to 5 nodes, workflows of up to 5 workloads and about 9 pods: small enough for the solver. */
const points: fc.Arbitrary<Point> = fc
  .record({
    nodes: fc.array(
      fc.record({ cpu: fc.integer({ min: 1_000, max: 4_000 }), zone: fc.integer({ min: 0, max: 2 }) }),
      { minLength: 2, maxLength: 5 },
    ),
    workloads: fc.array(
      fc.record({
        replicas: fc.integer({ min: 1, max: 2 }),
        cpu: fc.option(fc.integer({ min: 50, max: 900 })),
        memory: fc.option(fc.integer({ min: 64, max: 1_500 })),
        pin: fc.option(fc.nat(), { freq: 6 }),
      }),
      { minLength: 2, maxLength: 4 },
    ),
    rtts: fc.array(fc.integer({ min: 1, max: 150 }), { minLength: 10, maxLength: 10 }),
  })
  .map(({ nodes, workloads, rtts }) => {
    const made = nodes.map(({ cpu, zone }, index): PointNode => {
      const place = { zone: `z${zone}`, region: `r${zone % 2}` };
      return aNode(`n${index}`, { ...place, cpuMillicores: cpu, memoryBytes: 4_096 * MI });
    });
    const cluster = aCluster(
      made,
      made.map((_, a) => made.map((_, b) => (a === b ? 0 : rtts[(a + b) % rtts.length]!))),
    );
    return aPoint(
      cluster,
      workloads.map(({ replicas, cpu, memory, pin }, index): PointWorkload => {
        const callees = [index + 1, index + 2].filter((callee) => callee < workloads.length);
        return aWorkload(
          `w${index}`,
          callees.map((callee) => `w${callee}`),
          {
            replicas,
            requests: { cpuMillicores: cpu, memoryBytes: memory === null ? null : memory * MI },
            memoryBytes: 64 * MI,
            pinnedTo: pin === null ? null : `n${pin % made.length}`,
          },
        );
      }),
    );
  });

function faults(point: Point, placement: Placement): string[] {
  const wrong: string[] = [];
  const pods = podsOf(point);
  if (placement.size !== pods.length) wrong.push(`${placement.size} of ${pods.length} pods are placed`);
  for (const { name, pinnedTo } of pods)
    if (pinnedTo !== null && placement.get(name) !== pinnedTo) wrong.push(`${name} isn't on ${pinnedTo}`);
  for (const { name, cpuMillicores, memoryBytes } of point.cluster.nodes) {
    const here = pods.filter((pod) => placement.get(pod.name) === name);
    if (here.reduce((sum, pod) => sum + pod.cpuMillicores, 0) > cpuMillicores) wrong.push(`${name}: CPU`);
    if (here.reduce((sum, pod) => sum + pod.memoryBytes, 0) > memoryBytes) wrong.push(`${name}: memory`);
  }
  return wrong;
}

function someTraffic(point: Point): Observation {
  const channels = point.workflow.workloads.flatMap(({ name, calls }, at) =>
    calls.map(({ callee }, index) => [name, callee, 10_000 * (1 + at) * (1 + index)] as const),
  );
  return observed(point, channels, 50);
}

/** Runs a few rounds; false: the first placement failed, which is a valid answer. */
async function through(
  id: ContenderId,
  point: Point,
  check: (placement: Placement) => void,
): Promise<boolean> {
  const contender = createContender(id, DEPS);
  const random = seededRandom(1);
  try {
    let placement = await contender.place(point, null, random);
    check(placement);
    for (let round = 0; round < ROUNDS; round++) {
      const moves = await contender.adjust(point, placement, someTraffic(point), random, "until-content");
      if (moves.length === 0) break;
      const moved = new Map(placement);
      for (const { pod, from, to } of moves) {
        expect(moved.get(pod)).toBe(from);
        moved.set(pod, to);
      }
      placement = moved;
      check(placement);
    }
    return true;
  } catch (error) {
    if (error instanceof ContenderError) return false;
    throw error;
  } finally {
    await contender.close();
  }
}

describe.each(CONTENDERS)("%s", (id) => {
  test("keeps to what nodes have and to where pods are pinned", { timeout: 60_000 }, async () => {
    const numRuns = id === "isochrone" || id === "optimum" ? SEARCHES : RUNS;
    let placed = 0;
    await fc.assert(
      fc.asyncProperty(points, async (point) => {
        const check = (placement: Placement): void => expect(faults(point, placement)).toEqual([]);
        if (await through(id, point, check)) placed++;
      }),
      { numRuns, seed: 9 },
    );
    expect(placed).toBeGreaterThan(numRuns / 2);
  });

  test("says who it is, and what can't be placed", async () => {
    const contender = createContender(id, DEPS);
    expect(contender.id).toBe(id);
    expect(contender.by).not.toBe("");
    const tooLarge = aWorkload("db", [], { requests: { cpuMillicores: 3_000, memoryBytes: null } });
    const point = aPoint(aCluster([aNode("a"), aNode("b")]), [aWorkload("web", ["db"]), tooLarge]);
    await expect(contender.place(point, null, seededRandom(1))).rejects.toThrow(ContenderError);
  });

  test("brings back those whose node is gone, and leaves the others where they are", async () => {
    const nodes = [aNode("a"), aNode("b"), aNode("c")];
    const workloads = [aWorkload("web", ["api"], { replicas: 2 }), aWorkload("api", [], { replicas: 2 })];
    const point = aPoint(aCluster(nodes), workloads);
    const contender = createContender(id, DEPS);
    const kept = new Map([
      ["web-0", "a"],
      ["api-0", "b"],
      ["api-1", "c"],
    ]);
    const left = aCluster([aNode("a"), aNode("b")]);
    const before = { ...observed(point, [["web", "api", 50_000]]), cluster: left };
    const placement = await contender.place(point, before, seededRandom(1), kept);
    expect([...placement.keys()].sort()).toEqual(["api-0", "api-1", "web-0", "web-1"]);
    expect([placement.get("web-0"), placement.get("api-0")]).toEqual(["a", "b"]);
    expect(["a", "b"]).toContain(placement.get("web-1"));
    // Pods on the removed node are lost as well.
    expect(["a", "b"]).toContain(placement.get("api-1"));
    await contender.close();
  });
});

describe("speed", () => {
  const nodes = Array.from({ length: 50 }, (_, index) =>
    aNode(`n${index}`, { zone: `z${index % 10}`, region: `r${index % 4}` }),
  );
  const rttMs = nodes.map((_, a) => nodes.map((_, b) => (a === b ? 0 : 1 + ((a * 7 + b * 13) % 90))));
  const workloads = Array.from({ length: 25 }, (_, index) => {
    const callees = [2 * index + 1, 2 * index + 2].filter((callee) => callee < 25);
    return aWorkload(
      `w${index}`,
      callees.map((callee) => `w${callee}`),
      { replicas: 2 },
    );
  });
  const point = aPoint(aCluster(nodes, rttMs), workloads);

  test.each(["default", "paper", "paper-scaled", "affinity", "upstream"] as const)(
    "%s places 50 pods on 50 nodes within 50 ms of CPU",
    async (id) => {
      const contender = createContender(id, DEPS);
      const traffic = someTraffic(point);
      const times: number[] = [];
      for (let run = 0; run < 15; run++) {
        const before = process.threadCpuUsage();
        await contender.place(point, traffic, seededRandom(run));
        const { user, system } = process.threadCpuUsage(before);
        times.push((user + system) / 1_000);
      }
      // The first runs include compilation.
      expect(Math.min(...times)).toBeLessThan(50);
    },
  );
});

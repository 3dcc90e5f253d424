import { seeded } from "@isochrone/primitives";
import { expect, test } from "vitest";
import { partitioned } from "../baselines/baselines.ts";
import { FlowNetwork } from "../flow-network.ts";
import { joint } from "../joint/joint.ts";
import { otfa } from "../paper/otfa.ts";
import { otfs } from "../paper/otfs.ts";
import { PathTable } from "../paths.ts";
import { createStreamJob } from "../stream-job.ts";
import { testSolver } from "../testing/solver.ts";
import { randomNetwork } from "./random-network.ts";
import { simulate, type Arrival } from "./simulate.ts";
import type { SystemChange } from "./system-change.ts";
import { videoJob } from "./video-job.ts";

const solve = await testSolver();
const STRATEGIES = [partitioned(), otfs({ solve }), otfa({ solve }), joint()];

const NODES = ["camera", "left", "right", "one", "two"];
const network = new FlowNetwork(
  NODES,
  [
    ["camera", "left"],
    ["left", "one"],
    ["camera", "right"],
    ["right", "one"],
    ["right", "two"],
  ].map(([source, target]) => ({ source: source!, target: target!, capacityBitsPerSecond: 1_000 })),
);
const total = {
  memoryBytes: Float64Array.of(0, 0, 0, 1, 1),
  cpuMillicores: Float64Array.from(NODES, () => 1),
};
const job = createStreamJob(
  {
    name: "see",
    source: "camera",
    bytesPerFrame: 125,
    tasks: [{ name: "detect", memoryBytes: 1, cpuMillicores: 1 }],
    minThroughput: 0.75,
  },
  NODES,
  () => 0.5,
);
const arrivals: Arrival[] = [{ atSeconds: 0, durationSeconds: 20, job }];
const run = (strategy: (typeof STRATEGIES)[number], changes: SystemChange[]) =>
  simulate({ network, total, arrivals, changes, strategy, now: () => 0 });
const linkFrom = (source: number, target: number): number =>
  network.arcsFrom(source).find((arc) => arc.target === target)!.capacity;

test("no path uses a link without capacity, and links keep their indexes", () => {
  const capacities = network.capacities.slice();
  capacities[linkFrom(0, 1)] = 0;
  const changed = network.withCapacities(capacities);
  const [path] = new PathTable(changed, 4).between(0, 3);
  expect(path?.hops).toEqual([linkFrom(0, 2), linkFrom(2, 3)]);
  expect(new PathTable(changed, 4).between(0, 1)[0]?.nodes).toEqual([0, 2, 3, 1]);
});

test.each(STRATEGIES)(
  "$name: a job whose node dies runs on another one, for all of its time",
  async (strategy) => {
    const { jobs } = await run(strategy, [{ atSeconds: 10, kind: "node", node: 3 }]);
    expect(jobs[0]).toMatchObject({ waitedSeconds: 0 });
    expect(jobs[0]!.throughput).toBeCloseTo(1, 6);
  },
);

test.each(STRATEGIES)("$name: a job for which no node is left stands until its end", async (strategy) => {
  const { jobs } = await run(strategy, [
    { atSeconds: 5, kind: "node", node: 3 },
    { atSeconds: 10, kind: "node", node: 4 },
  ]);
  expect(jobs[0]!.throughput).toBeCloseTo(0.5, 6);
  expect(jobs[0]!.kept).toBeCloseTo(0.5, 6);
});

test("a smaller link is left by joint, and cuts what a strategy that stays promised", async () => {
  const first: Record<string, number> = {};
  for (const strategy of [joint(), otfs({ solve })]) {
    const runs = [1, 2].map((way) =>
      run(strategy, [{ atSeconds: 10, kind: "links", links: [linkFrom(0, way)], factor: 0.5 }]),
    );
    const throughputs = (await Promise.all(runs)).map(({ jobs }) => jobs[0]!.throughput);
    first[strategy.name] = Math.min(...throughputs);
  }
  expect(first["joint"]).toBeCloseTo(1, 6);
  expect(first["otfs"]).toBeCloseTo(0.75, 6);
});

test("the job that has run longest leaves early", async () => {
  const second = { ...arrivals[0]!, atSeconds: 1, job: { ...job, name: "later" } };
  const { jobs } = await simulate({
    network,
    total,
    arrivals: [...arrivals, second],
    changes: [{ atSeconds: 4, kind: "job" }],
    strategy: joint(),
    now: () => 0,
  });
  expect(jobs.map(({ sinceSubmission }) => sinceSubmission)).toEqual(
    [1, 1].map((one) => expect.closeTo(one, 6)),
  );
});

test.each(STRATEGIES)(
  "$name stays within all capacities while a random network changes",
  async (strategy) => {
    const draw = seeded(3);
    const random = randomNetwork({ nodes: 20, bitsPerSecond: 1e6, draw });
    const many = Array.from({ length: 20 }, (_, at): Arrival => {
      const source = at % 8;
      return { atSeconds: at, durationSeconds: 30, job: videoJob(random, { name: `job-${at}`, source }) };
    });
    const { jobs } = await simulate({
      network: random.network,
      total: random.total,
      arrivals: many,
      changes: [
        { atSeconds: 12.5, kind: "links", links: [0, 1, 2, 3, 4, 5], factor: 0.3 },
        { atSeconds: 15.5, kind: "node", node: 12 },
      ],
      strategy,
      now: () => 0,
    });
    expect(jobs.filter(({ waitedSeconds }) => waitedSeconds === null)).toEqual([]);
  },
);

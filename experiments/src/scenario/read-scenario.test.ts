import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { seededRandom } from "@isochrone/runtime";
import { describe, expect, it } from "vitest";
import { callersFirst } from "./check-point.ts";
import { ScenarioError } from "./errors.ts";
import { generateCluster } from "./generate/cluster.ts";
import { generateWorkflow } from "./generate/microservices.ts";
import type { Scenario } from "./model.ts";
import { readScenario } from "./read-scenario.ts";

const GOOD = `title: Two services on two nodes
question: Does it help?
source: nowhere
seed: 1
trials: 3
baseline: default
contenders: [default, isochrone]
axes:
  rttMs: [10, 100]
  users: [5, 50]
cluster:
  nodes:
    - { name: a, region: west, cpu: 2, memory: 8Gi }
    - { name: b, region: east, cpu: 500m, memory: 4Gi }
  links: { all: $rttMs }
workflow:
  name: pair
  entry: web
  defaults: { memory: 128Mi, cpuMs: 1, request: 100, response: 1000 }
  workloads:
    - { name: db, pinnedTo: b }
    - name: web
      calls: [{ callee: db, times: 2, probability: 0.5 }, db]
load: { users: $users, warmUp: 1s, duration: 2m }
grounds: { model: { hopMs: 1 } }
quick: { trials: 1, axes: { users: [5] }, load: { duration: 5s } }
`;

function read(text: string, quick = false): Scenario {
  return readScenario(text, "test.yaml", { quick });
}

function issuesWith(passage: string, replacement: string): readonly string[] {
  if (!GOOD.includes(passage)) throw new Error(`the scenario must have ${passage}`);
  try {
    read(GOOD.replace(passage, () => replacement));
  } catch (error) {
    if (!(error instanceof ScenarioError)) throw error;
    return error.issues.map(({ line, message }) => `${line}: ${message}`);
  }
  return [];
}

describe("a scenario", () => {
  it("multiplies its axes into points, the last axis fastest", () => {
    const { points, name } = read(GOOD);
    expect(name).toBe("test");
    expect(points.map(({ id }) => id)).toStrictEqual([
      "rttMs=10,users=5",
      "rttMs=10,users=50",
      "rttMs=100,users=5",
      "rttMs=100,users=50",
    ]);
    expect(points[3]!.load).toStrictEqual({
      users: 50,
      requestsPerSecondPerUser: 1,
      warmUpSeconds: 1,
      durationSeconds: 120,
    });
    expect(points[3]!.cluster.rttMs).toStrictEqual([
      [0, 100],
      [100, 0],
    ]);
  });

  it("has callers before callees, defaults filled in, and calls as often as they are made", () => {
    const [web, db] = read(GOOD).points[0]!.workflow.workloads;
    expect([web!.name, db!.name]).toStrictEqual(["web", "db"]);
    expect(web!.calls.map(({ probability }) => probability)).toStrictEqual([0.5, 0.5, 1]);
    expect(db).toMatchObject({ memoryBytes: 128 * 2 ** 20, pinnedTo: "b", cpuSpread: "exponential" });
  });

  it("has every field in the example of the documentation", () => {
    const text = readFileSync(new URL("../../../docs/examples/experiment.yaml", import.meta.url), "utf8");
    expect(read(text).points.map(({ id }) => id)).toHaveLength(4);
    expect(read(text, true).points.map(({ id }) => id)).toHaveLength(2);
  });

  it("is smaller where its quick part says so, and the same elsewhere", () => {
    const quick = read(GOOD, true);
    expect(quick.trials).toBe(1);
    expect(quick.points.map(({ id }) => id)).toStrictEqual(["rttMs=10,users=5", "rttMs=100,users=5"]);
    expect(quick.points[0]!.load).toMatchObject({ durationSeconds: 5, warmUpSeconds: 1 });
  });

  it("sends packets over other nodes where two have no link", () => {
    const text = GOOD.replace(
      "    - { name: b,",
      "    - { name: c, cpu: 1, memory: 1Gi }\n    - { name: b,",
    ).replace(
      "links: { all: $rttMs }",
      "links: { between: [{ a: a, b: c, rttMs: 7 }, { a: c, b: b, rttMs: $rttMs }] }",
    );
    expect(read(text).points[0]!.cluster.rttMs[0]).toStrictEqual([0, 7, 17]);
  });

  it("averages what two nodes measured of each other: a round trip has both ways in it", () => {
    const text = GOOD.replace("links: { all: $rttMs }", "matrix: [[0, 10], [$rttMs, 0]]");
    expect(read(text).points.map(({ cluster }) => cluster.rttMs)).toStrictEqual(
      [10, 10, 55, 55].map((rttMs) => [
        [0, rttMs],
        [rttMs, 0],
      ]),
    );
  });

  it.each([
    ["users: [5, 50]", "users: [0]", "10: load.users must be a number (whole, of at least 1), got 0"],
    [
      "all: $rttMs",
      "all: -3",
      "15: cluster.links.all must be a number (of at least 0, of at most 60000), got -3",
    ],
    [
      "links: { all: $rttMs }",
      "links: { withinZone: 1 }",
      "15: cluster.links must connect all nodes, got 2 parts: {a} and {b}",
    ],
    [
      "links: { all: $rttMs }",
      "matrix: [[0, '-'], ['-', 0]]",
      "15: cluster.matrix must connect all nodes, got 2 parts: {a} and {b}",
    ],
    [
      "[default, isochrone]",
      "[default, isocrone]",
      '7: contenders[1] must be one of default, paper, paper-scaled, affinity, upstream, isochrone, optimum, null, got "isocrone"',
    ],
    [
      "baseline: default",
      "baseline: paper",
      "6: baseline must be among contenders (default, isochrone), got paper",
    ],
    ["pinnedTo: b", "pinnedTo: z", "21: workflow.workloads[0] (db) must be pinned to a node, got z"],
    [", db]", ", cache]", "22: workflow.workloads[1] (web) calls must name workloads, got cache"],
    [
      "- { name: db, pinnedTo: b }",
      "- { name: db, calls: [web] }",
      "17: workflow calls must not go round in a cycle, got db to web to db",
    ],
    ["entry: web", "entry: shop", "17: workflow entry must be a workload, got shop"],
    [
      "pinnedTo: b",
      "replicas: 99",
      "17: workflow must not need more memory than the nodes have: 100 pods need 12800 Mi of 12288 Mi",
    ],
    [
      "pinnedTo: b",
      "pinnedTo: b, memory: 9Gi",
      "21: workflow.workloads[0] (db) must fit a node, got 0m and 9216 Mi a pod",
    ],
    [
      "pinnedTo: b",
      "pinedTo: b",
      "21: workflow.workloads[0].pinedTo is not known; known here: name, calls, pinnedTo, replicas, requests, memory, cpuMs, cpuSpread, request, response",
    ],
    ["duration: 2m", "duration: 120", "24: load.duration must be a duration such as 30s or 40m, got 120"],
    ["$users", "$user", "24: load.users must name an axis, got $user; axes: rttMs, users"],
    [
      "probability: 0.5",
      "probability: 2",
      "23: workflow.workloads[1].calls[0].probability must be a number (above 0, of at most 1), got 2",
    ],
    ["trials: 3", "trials: 0", "5: trials must be a number (whole, of at least 1, of at most 1000), got 0"],
  ])("says what is wrong and where: %s -> %s", (passage, replacement, message) => {
    expect(issuesWith(passage, replacement)[0]).toBe(message);
  });

  it("refuses calls that the lab can't tell apart where it is to measure", () => {
    const lab = "grounds: { model: { hopMs: 1 }, lab: { scale: 4, duration: 60s, trials: 1 } }";
    expect(issuesWith("grounds: { model: { hopMs: 1 } }", lab)).toStrictEqual([
      "22: workflow.workloads[1] (web) must make all its calls to db alike for the lab, got some with another size or probability",
    ]);
    expect(
      readScenario(GOOD.replace("grounds: { model: { hopMs: 1 } }", lab).replace(", db]", "]"), "t.yaml"),
    ).toMatchObject({ trials: 3 });
  });

  it("refuses requests beyond the nodes' CPU", () => {
    expect(issuesWith("pinnedTo: b", "replicas: 9, requests: { cpu: 400m }")[0]).toBe(
      "17: workflow must not request more CPU than the nodes have: 10 pods request 3600m of 2500m",
    );
  });

  it("lists all mistakes at once, in the order of the file", () => {
    const text = GOOD.replace("trials: 3", "trials: none").replace("cpu: 2,", "cpu: -1,");
    expect(() => read(text)).toThrow(/test\.yaml:5: trials .*\ntest\.yaml:13: cluster\.nodes\[0\]\.cpu /);
  });

  it("is not read when it isn't YAML", () => {
    expect(() => read("title: [")).toThrow(/test\.yaml:\d+: /);
  });
});

describe("generated workflows", () => {
  const statistics = {
    cpuMs: 3,
    memoryBytes: 2 ** 27,
    conditionalShare: 0.5,
    requests: { cpuMillicores: null, memoryBytes: null },
  };

  it("have the published shares of leaves, no cycle, and every service called", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 120 }), fc.integer({ min: 0, max: 1e6 }), (services, seed) => {
        const { workloads } = generateWorkflow({ services, ...statistics }, seededRandom(seed));
        expect(workloads).toHaveLength(services);
        expect(callersFirst(workloads)).not.toBeNull();
        const called = new Set(workloads.flatMap(({ calls }) => calls.map(({ callee }) => callee)));
        expect(called.size).toBe(services - 1);
        const leaves = workloads.filter(({ calls }) => calls.length === 0).length;
        expect(Math.abs(leaves - (services - 1) * 0.448)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it("are equal for equal seeds, and others for others", () => {
    const made = (seed: number): unknown =>
      generateWorkflow({ services: 20, ...statistics }, seededRandom(seed));
    expect(made(1)).toStrictEqual(made(1));
    expect(made(1)).not.toStrictEqual(made(2));
  });

  it("have clusters with symmetric round trips, shorter within a region", () => {
    const { nodes, rttMs } = generateCluster(
      { nodes: 9, regions: 3, cpuMillicores: 2000, memoryBytes: 2 ** 32, withinMs: 2, betweenMs: 200 },
      seededRandom(5),
    );
    const pairs = nodes.keys().flatMap((a) => nodes.keys().map((b) => [a, b] as const));
    const near: number[] = [];
    for (const [a, b] of pairs) {
      expect(rttMs[a]![b]).toBe(rttMs[b]![a]);
      if (nodes[a]!.region === nodes[b]!.region) near.push(rttMs[a]![b]!);
    }
    expect(Math.max(...near)).toBeLessThanOrEqual(3);
  });
});

import { FlowNetwork, joint, PathTable, readJobDefinition, withHeaders } from "@isochrone/streams";
import { describe, expect, test } from "vitest";
import { decide, MOST_TRIED, type DecidedJob, type DecideInput, type Verdict } from "./decide.ts";
import type { StreamNode } from "./planned-job.ts";

const NODES: readonly StreamNode[] = ["camera", "box", "server"].map((name) => ({
  name,
  labels: { device: name },
  totalCpuMillicores: 4_000,
  memoryBytes: 1e9,
  cpuMillicores: 4_000,
}));
const NETWORK = new FlowNetwork(
  NODES.map(({ name }) => name),
  [
    { source: "camera", target: "box", capacityBitsPerSecond: 100e6 },
    { source: "box", target: "server", capacityBitsPerSecond: 20e6 },
  ],
);
const WIDE = [{ source: "camera", target: "server", capacityBitsPerSecond: 1e9 }];
const CREATED_MS = 1_000;

interface JobOptions extends Partial<DecidedJob> {
  readonly spec?: object;
  readonly source?: object;
  readonly cpu?: string;
  readonly device?: string;
}

function job(key: string, options: JobOptions = {}): DecidedJob {
  const { spec = {}, source = {}, cpu = "1", device = "server", ...more } = options;
  const definition = readJobDefinition(key, {
    source: { node: "camera", bytesPerFrame: 250_000, ...source },
    tasks: [
      {
        name: "detect",
        requests: { cpu, memory: "1Mi" },
        profile: [{ nodeLabels: { device }, secondsPerFrame: 0.05 }],
      },
    ],
    ...spec,
  });
  const { memoryBytes, cpuMillicores } = definition.spec.tasks[0]!;
  return {
    key,
    definition,
    createdMs: CREATED_MS,
    knownMs: 0,
    placement: null,
    putOff: null,
    requestsOf: () => ({ memoryBytes, cpuMillicores }),
    rejection: () => null,
    measured: () => null,
    fastest: null,
    ...more,
  };
}

function decided(
  jobs: readonly DecidedJob[],
  more: Partial<DecideInput> = {},
): Promise<Map<string, Verdict>> {
  return decide({
    network: NETWORK,
    paths: new PathTable(NETWORK),
    nodes: NODES,
    jobs,
    strategy: joint({ moveMargin: Infinity }),
    change: "left",
    ...more,
  });
}

async function placementOf(one: DecidedJob): Promise<NonNullable<DecidedJob["placement"]>> {
  const verdict = (await decided([one])).get(one.key)!;
  if (verdict.kind !== "placed") throw new Error(`it is ${verdict.kind}`);
  return verdict.placement;
}

describe("a decision about stream jobs", () => {
  test("takes tasks to be as fast as their job has been, and measured times before declared ones", async () => {
    const free = {
      network: new FlowNetwork(
        NODES.map(({ name }) => name),
        WIDE,
      ),
    };
    const paceOf = async (more: JobOptions): Promise<number> => {
      const one = job("site/a", more);
      const found = (await decided([one], { ...free, paths: new PathTable(free.network) })).get(one.key)!;
      return found.kind === "placed" ? found.placement.throughput : 0;
    };
    expect(await paceOf({})).toBeCloseTo(20, 6);
    expect(await paceOf({ measured: (_, { name }) => (name === "server" ? 0.02 : null) })).toBeCloseTo(50, 6);
    const placement = {
      hosts: new Map([["detect", "server"]]),
      seconds: new Map(),
      flows: [],
      throughput: 20,
      limit: { kind: "source", node: "camera" },
      nextBest: null,
    } as const;
    expect(await paceOf({ placement, fastest: 40 })).toBeCloseTo(40, 6);
    expect(await paceOf({ placement, fastest: 21 })).toBeCloseTo(20, 6);
    expect(await paceOf({ placement, fastest: 5 })).toBeCloseTo(20, 6);
  });

  test("counts headers, and no more frames than arise", async () => {
    const frame = withHeaders(250_000) * 8;
    expect(frame).toBeCloseTo(2_091_160, 0);
    const fast = await placementOf(job("site/a"));
    expect(fast.throughput).toBeCloseTo(20e6 / frame, 6);
    expect(fast.limit).toMatchObject({ kind: "link", source: "box", target: "server" });
    const fed = await placementOf(job("site/a", { source: { framesPerSecond: 5 } }));
    expect(fed).toMatchObject({
      throughput: expect.closeTo(5, 6),
      limit: { kind: "source", node: "camera" },
      flows: [{ from: null, to: "detect", route: ["camera", "box", "server"] }],
    });
  });

  test("leaves running jobs where they are, and gives the longest waiting its turn first", async () => {
    const first = job("site/first", { cpu: "3" });
    const placement = await placementOf(first);
    const verdicts = await decided([
      job("site/late", { createdMs: 3_000 }),
      job("site/early", { createdMs: 2_000 }),
      { ...first, placement },
    ]);
    expect(verdicts.get("site/first")).toMatchObject({
      kind: "placed",
      placement: { hosts: placement.hosts },
    });
    expect(verdicts.get("site/early")).toMatchObject({ kind: "placed" });
    expect(verdicts.get("site/late")).toMatchObject({
      kind: "waiting",
      why: {
        reason: "NoRoom",
        message:
          "task detect needs 1000m CPU and 1 MiB, which none of its 1 nodes has left beside other stream jobs",
      },
    });
  });

  test("names the next best nodes of when a job was placed, and goes on naming them", async () => {
    const profile = [
      { nodeLabels: { device: "box" }, secondsPerFrame: 1 },
      { nodeLabels: { device: "server" }, secondsPerFrame: 0.5 },
    ];
    const spec = { tasks: [{ name: "detect", requests: { cpu: "1", memory: "1Mi" }, profile }] };
    const one = job("site/a", { spec });
    const placement = await placementOf(one);
    expect([...placement.hosts]).toEqual([["detect", "server"]]);
    expect(placement.nextBest).toBe("detect on box: 1.00 frames/s");
    const later = await placementOf({ ...one, placement });
    expect(later.nextBest).toBe(placement.nextBest);
    expect((await placementOf(job("site/b"))).nextBest).toBeNull();
  });

  test("keeps room for a job that has waited for five minutes and fits the empty cluster", async () => {
    const small = job("site/small", { cpu: "2" });
    const running = { ...small, placement: await placementOf(small) };
    const jobs = [running, job("site/big", { cpu: "4" }), job("site/next", { createdMs: 2_000 })];
    const kinds = async (knownMs: number): Promise<string[]> =>
      [...(await decided(jobs.map((each) => ({ ...each, knownMs })))).values()].map((verdict) =>
        verdict.kind === "waiting" ? verdict.why.reason : verdict.kind,
      );
    expect((await kinds(299_999)).sort()).toEqual(["NoRoom", "placed", "placed"]);
    expect((await kinds(300_000)).sort()).toEqual(["Behind", "NoRoom", "placed"]);
    jobs[2] = job("other/next", { createdMs: 2_000 });
    expect((await kinds(300_000)).sort()).toEqual(["NoRoom", "placed", "placed"]);
    jobs[2] = job("site/next", { createdMs: 2_000 });
    jobs[1] = job("site/big", { cpu: "5" });
    expect((await kinds(300_000)).sort()).toEqual(["NoRoom", "placed", "placed"]);
  });

  test("gives namespaces their turn by how many jobs they have, however many one has that wait", async () => {
    const many = Array.from({ length: 300 }, (_, at) => job(`greedy/${at}`, { cpu: "2" }));
    const verdicts = await decided([...many, job("site/late", { cpu: "2", createdMs: 9_000 })]);
    expect(verdicts.get("site/late")).toMatchObject({ kind: "placed" });
    const reasons = [...verdicts.values()].map((each) =>
      each.kind === "waiting" ? each.why.message : each.kind,
    );
    expect(reasons.filter((reason) => reason === "placed")).toHaveLength(2);
    expect(reasons.filter((reason) => reason.startsWith("namespaces share"))).toHaveLength(301 - MOST_TRIED);
  });

  test("shares a link between namespaces, however many jobs and promises one has", async () => {
    const most = 20e6 / (withHeaders(250_000) * 8);
    const greedy = (at: number, minThroughput: number): DecidedJob =>
      job(`greedy/${at}`, { cpu: "100m", spec: { minThroughput } });
    const running = await Promise.all(
      [0, 1, 2].map(async (at) => {
        const one = greedy(at, most / 4);
        return { ...one, placement: await placementOf(one) };
      }),
    );
    const jobs = [...running, job("site/one", { cpu: "100m" })];
    const paces = [...(await decided(jobs)).values()].map((each) =>
      each.kind === "placed" ? each.placement.throughput / most : 0,
    );
    // Promises take three quarters of the link: half is kept, and the namespaces share the rest.
    expect(paces.map((pace) => Math.round(pace * 1_000))).toEqual([250, 250, 250, 250]);
    const promised = job("greedy/3", { cpu: "100m", spec: { minThroughput: most / 2 } });
    expect((await decided([...jobs, promised])).get("greedy/3")).toMatchObject({
      why: { reason: "Promises" },
    });
  });

  test("says what promises leave for a job that must have more", async () => {
    const promised = job("site/a", { spec: { minThroughput: 6 } });
    const running = { ...promised, placement: await placementOf(promised) };
    const verdicts = await decided([
      running,
      job("site/b", { spec: { minThroughput: 6 }, createdMs: 2_000 }),
    ]);
    expect(verdicts.get("site/b")).toMatchObject({
      kind: "waiting",
      why: { reason: "Promises", message: expect.stringContaining("it must have 6 frames/s") },
    });
  });

  test("places tasks of a running job that have lost their node, and no others", async () => {
    const spec = {
      tasks: ["decode", "detect"].map((name, at) => ({
        name,
        requests: { cpu: "1", memory: "1Mi" },
        profile: [{ secondsPerFrame: 0.05 }],
        downstream: at === 0 ? [{ task: "detect", bytesPerFrame: 1_000 }] : [],
      })),
    };
    const whole = job("site/a", { spec });
    const { hosts: _, ...placement } = await placementOf(whole);
    const partial = { ...whole, placement: { ...placement, hosts: new Map([["decode", "server"]]) } };
    const { hosts } = await placementOf(partial);
    expect(hosts.get("decode")).toBe("server");
    expect([...hosts.keys()].sort()).toEqual(["decode", "detect"]);
  });

  test.each([
    [
      "a source that isn't there",
      { source: { node: "attic" } },
      "source must be a node of the network, got attic",
    ],
    [
      "frames beyond 2^53",
      { source: { bytesPerFrame: 2 ** 53 } },
      "must be a number above 0 and at most 2^53 - 1",
    ],
    ["a promise of NaN", { spec: { minThroughput: Number.NaN } }, "minThroughput must be a number above 0"],
  ] as const)("refuses %s", async (_, options, message) => {
    expect((await decided([job("site/a", options)])).get("site/a")).toEqual({
      kind: "refused",
      message: expect.stringContaining(message),
    });
  });

  test("counts why no node takes a task", async () => {
    const rejection: DecidedJob["rejection"] = (_, node) =>
      node === "box" ? { plugin: "TaintToleration", message: "node(s) had untolerated taint(s)" } : null;
    const verdicts = await decided([job("site/a", { device: "nothing", rejection })]);
    expect(verdicts.get("site/a")).toMatchObject({
      why: {
        reason: "NoNode",
        message:
          "task detect (1000m CPU and 1 MiB) runs on none of 3 nodes: 2 no entry of its profile matches, 1 node(s) had untolerated taint(s)",
      },
    });
  });
});

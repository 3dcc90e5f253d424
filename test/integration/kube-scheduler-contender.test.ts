// Trials on the real kube-scheduler of experiments are isolated from each other.
import {
  createContender,
  type SchedulableNode,
  type SchedulingRequest,
  type WaitingPod,
} from "@isochrone/experiments/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RealKubeScheduler } from "../experiments/kube-scheduler.ts";

const GI = 1024 ** 3;
const node = (name: string, fields: Partial<SchedulableNode> = {}): SchedulableNode => {
  const size = { cpuMillicores: 2_000, memoryBytes: 8 * GI, maxPods: 110 };
  return { name, zone: `z-${name}`, region: "r", ...size, ...fields };
};
const replicas = (workload: string, count: number, fields: Partial<WaitingPod> = {}): WaitingPod[] =>
  Array.from({ length: count }, (_, index) => {
    const requests = { cpuMillicores: 100, memoryBytes: GI / 8 };
    return { name: `${workload}-${index}`, workload, ...requests, pinnedTo: null, ...fields };
  });

const support = RealKubeScheduler.support();
if (!support.supported) console.warn(`contenders are not tested on a real kube-scheduler: ${support.reason}`);

describe.runIf(support.supported)("the real kube-scheduler of experiments", () => {
  let real: RealKubeScheduler;
  const schedule = async (request: Partial<SchedulingRequest>): Promise<Record<string, string>> => {
    const nodes = [node("a"), node("b"), node("c")];
    return Object.fromEntries(await real.schedule({ nodes, pods: [], placed: [], ...request }));
  };

  beforeAll(async () => {
    real = await RealKubeScheduler.start();
  }, 120_000);
  afterAll(() => real?.close());

  test("spreads the replicas of a workload by default, and heeds pins", async () => {
    const pods = [...replicas("web", 3), ...replicas("db", 1, { pinnedTo: "b" })];
    const placed = await schedule({ pods });
    expect([placed["web-0"]!, placed["web-1"]!, placed["web-2"]!].sort()).toEqual(["a", "b", "c"]);
    expect(placed["db-0"]).toBe("b");
  });

  test("counts pods that are placed from the beginning", async () => {
    const there = replicas("web", 3).map((pod, index) => [pod, index < 2 ? "a" : "c"] as const);
    const placed = await schedule({ placed: there, pods: replicas("web", 4).slice(3) });
    expect(placed).toEqual({ "web-3": "b" });
  });

  test("says in its own words why a pod has no node, and goes on with the next trial", async () => {
    const large = replicas("db", 1, { cpuMillicores: 3_000 });
    await expect(schedule({ pods: [...replicas("web", 1), ...large] })).rejects.toThrow(
      /pod db-0 can't be scheduled: 0\/\d+ nodes are available: .*3 Insufficient cpu/,
    );
    expect(Object.keys(await schedule({ pods: replicas("web", 2) }))).toEqual(["web-0", "web-1"]);
  });

  test("fills nodes of one trial that are empty again in the next", async () => {
    const full = replicas("web", 6, { cpuMillicores: 900 });
    for (let trial = 0; trial < 2; trial++) {
      const nodes = Object.values(await schedule({ pods: full }));
      expect(nodes.toSorted()).toEqual(["a", "a", "b", "b", "c", "c"]);
    }
  });

  test("decides for the contender, which says so", async () => {
    const contender = createContender("default", {
      kubeScheduler: real,
      // Only Isochrone's contenders use these.
      product: undefined as never,
      clock: { monotonic: () => 0 },
    });
    expect(contender.by).toBe(`kube-scheduler ${real.version}`);
    const workload = {
      cpuMs: 1,
      cpuSpread: "fixed",
      memoryBytes: GI / 8,
      calls: [],
      pinnedTo: null,
    } as const;
    const point = {
      id: "point",
      labels: {},
      cluster: {
        nodes: [node("a"), node("b")],
        rttMs: [
          [0, 1],
          [1, 0],
        ],
      },
      workflow: {
        name: "flow",
        entry: "web",
        usersAt: null,
        workloads: [
          { ...workload, name: "web", replicas: 2, requests: { cpuMillicores: null, memoryBytes: null } },
        ],
      },
      load: { users: 1, requestsPerSecondPerUser: 1, warmUpSeconds: 0, durationSeconds: 1 },
      changes: [],
    };
    const placement = await contender.place(point, null, { next: () => 0 });
    expect([...placement.values()].sort()).toEqual(["a", "b"]);
  });
});

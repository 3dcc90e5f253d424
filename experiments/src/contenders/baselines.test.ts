// The baselines on small clusters, worked out by hand.
import { seededRandom } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import type { Point } from "../scenario/model.ts";
import { AffinityContender, parametersOf } from "./affinity.ts";
import { DefaultContender } from "./default.ts";
import type { SchedulingRequest } from "./kube-scheduler/port.ts";
import { PaperContender } from "./paper.ts";
import { ContenderError } from "./port.ts";
import { aCluster, aNode, aPoint, aWorkload, observed } from "./testing/points.ts";
import { networkTopology, UpstreamContender } from "./upstream.ts";

const random = seededRandom(1);

describe("default", () => {
  const point = aPoint(aCluster([aNode("a"), aNode("b")]), [
    aWorkload("web", ["db"], { replicas: 2, requests: { cpuMillicores: null, memoryBytes: null } }),
    aWorkload("db", [], { pinnedTo: "b" }),
  ]);

  test("hands pods to the real one in their order, nothing requested as 0", async () => {
    const asked: SchedulingRequest[] = [];
    const schedule = async (request: SchedulingRequest): Promise<Map<string, string>> => {
      asked.push(request);
      return new Map(request.pods.map(({ name }) => [name, "a"]));
    };
    const contender = new DefaultContender("default", { kubeScheduler: { version: "1.35.8", schedule } });
    expect(contender.by).toBe("kube-scheduler 1.35.8");
    const placement = await contender.place(point, null, random, new Map([["web-1", "b"]]));
    expect([...placement]).toEqual([
      ["web-1", "b"],
      ["web-0", "a"],
      ["db-0", "a"],
    ]);
    expect(
      asked[0]!.pods.map(({ name, cpuMillicores, pinnedTo }) => [name, cpuMillicores, pinnedTo]),
    ).toEqual([
      ["web-0", 0, null],
      ["db-0", 100, "b"],
    ]);
    expect(asked[0]!.placed.map(([pod, node]) => [pod.name, node])).toEqual([["web-1", "b"]]);
  });

  test("a refusal of the real one is the contender's", async () => {
    const schedule = (): Promise<never> => Promise.reject(new Error("0/2 nodes are available"));
    const contender = new DefaultContender("null", { kubeScheduler: { version: "1.35.8", schedule } });
    const refused = contender.place(point, null, random);
    await expect(refused).rejects.toThrow(ContenderError);
    await expect(refused).rejects.toThrow("null: 0/2 nodes are available");
  });

  test("keeps replicas apart, and moves nobody", async () => {
    const contender = new DefaultContender("default", {});
    const placement = await contender.place(point, null, random);
    expect([placement.get("web-0")!, placement.get("web-1")!].sort()).toEqual(["a", "b"]);
    expect(await contender.adjust()).toEqual([]);
  });

  test("null breaks ties by other numbers of the same seed", async () => {
    const nodes = Array.from({ length: 8 }, (_, index) => aNode(`n${index}`));
    const even = aPoint(aCluster(nodes), [aWorkload("web", [], { replicas: 8 })]);
    const orders = await Promise.all(
      (["default", "null"] as const).map(async (id) => {
        const placement = await new DefaultContender(id, {}).place(even, null, seededRandom(5));
        return [...placement.values()].join();
      }),
    );
    expect(orders[0]).not.toBe(orders[1]);
  });
});

describe("paper", () => {
  const nodes = [aNode("a"), aNode("b")];
  const point = aPoint(aCluster(nodes, 10), [
    aWorkload("web", ["api"], { pinnedTo: "a" }),
    aWorkload("api", [], { replicas: 2 }),
  ]);

  test("goes by requests while nothing was measured: pods are spread", async () => {
    const placement = await new PaperContender().place(point, null, random);
    expect([placement.get("api-0")!, placement.get("api-1")!].sort()).toEqual(["a", "b"]);
  });

  test("traffic times latency outweighs what is free, when it is much", async () => {
    // b has 100 % more of both free, each pod's use: 0.5 x 100. On b a replica pays 0.5 x 10 ms x 5,000 B/s.
    const before = observed(point, [["web", "api", 10_000]]);
    const placement = await new PaperContender().place(point, before, random);
    expect([placement.get("api-0"), placement.get("api-1")]).toEqual(["a", "a"]);
  });

  test("and doesn't when it is little", async () => {
    // 0.5 x 10 ms x 1 B/s is 5.
    const before = observed(point, [["web", "api", 2]]);
    const placement = await new PaperContender().place(point, before, random);
    expect(placement.get("api-0")).toBe("b");
  });

  test("its descheduler moves one pod of a Deployment per run, to the highest score, until none is higher", async () => {
    const before = observed(point, [["web", "api", 10_000]]);
    const contender = new PaperContender();
    const placement = new Map([
      ["web-0", "a"],
      ["api-0", "b"],
      ["api-1", "b"],
    ]);
    expect(await contender.adjust(point, placement, before)).toEqual([{ pod: "api-0", from: "b", to: "a" }]);
    placement.set("api-0", "a");
    expect(await contender.adjust(point, placement, before)).toEqual([{ pod: "api-1", from: "b", to: "a" }]);
    placement.set("api-1", "a");
    expect(await contender.adjust(point, placement, before)).toEqual([]);
  });

  test("moves no two pods into one place", async () => {
    const requests = { cpuMillicores: 1_000, memoryBytes: null };
    const tight = aPoint(aCluster(nodes, 10), [
      aWorkload("web", ["api", "cart"], { pinnedTo: "a", requests }),
      aWorkload("api", [], { requests }),
      aWorkload("cart", [], { requests }),
    ]);
    const before = observed(tight, [
      ["web", "api", 10_000],
      ["web", "cart", 90_000],
    ]);
    const placement = new Map([
      ["web-0", "a"],
      ["api-0", "b"],
      ["cart-0", "b"],
    ]);
    // In the order of the workloads, as the paper has no other.
    expect(await new PaperContender().adjust(tight, placement, before)).toEqual([
      { pod: "api-0", from: "b", to: "a" },
    ]);
  });
});

describe("affinity", () => {
  const nodes = [aNode("a"), aNode("b"), aNode("c")];
  const rttMs = [
    [0, 1, 50],
    [1, 0, 50],
    [50, 50, 0],
  ];
  const point = (labels: Point["labels"]): Point =>
    aPoint(
      aCluster(nodes, rttMs),
      [aWorkload("db", [], { pinnedTo: "a" }), aWorkload("web", ["db"])],
      labels,
    );
  const nodeOfWeb = async (labels: Point["labels"]): Promise<string> =>
    (await new AffinityContender().place(point(labels), null, random)).get("web-0")!;

  test("gamma decides between the neighbour's own node and one near by", async () => {
    // On a: gamma x 100 / 2. On b: 1 / 1 ms x 100 / 2. On c: a fiftieth of that.
    expect(await nodeOfWeb({ gamma: 10 })).toBe("a");
    expect(await nodeOfWeb({ gamma: 0.1 })).toBe("b");
  });

  test("parameters are axes of the point, else the defaults; nonsense is refused", async () => {
    expect(parametersOf({ alpha: 0.2, users: 5 })).toEqual({ alpha: 0.2, beta: 0.5, gamma: 10 });
    await expect(nodeOfWeb({ alpha: "much" })).rejects.toThrow('alpha must be a number, got "much"');
    await expect(nodeOfWeb({ gamma: -1 })).rejects.toThrow(ContenderError);
    expect(await new AffinityContender().adjust()).toEqual([]);
  });
});

describe("upstream", () => {
  const nodes = [
    aNode("a", { zone: "z1", region: "r1" }),
    aNode("b", { zone: "z1", region: "r1" }),
    aNode("c", { zone: "z2", region: "r1" }),
    aNode("d", { zone: "z3", region: "r2" }),
  ];
  const rttMs = [
    [0, 1, 5.6, 40],
    [1, 0, 4.6, 44],
    [5, 5, 0, 0.2],
    [40, 44, 48, 0],
  ];

  test("costs are whole milliseconds between areas, at least 1", () => {
    const { zones, regions } = networkTopology(aCluster(nodes, rttMs));
    expect(zones).toEqual([
      { from: "z1", to: "z2", cost: 5 },
      { from: "z2", to: "z1", cost: 5 },
    ]);
    expect(regions).toEqual([
      { from: "r1", to: "r2", cost: 28 },
      { from: "r2", to: "r1", cost: 44 },
    ]);
    const near = networkTopology(aCluster([nodes[2]!, nodes[3]!], 0.2));
    expect(near.regions.map(({ cost }) => cost)).toEqual([1, 1]);
  });

  test("sees areas, not nodes: full nodes aside, the dependency's own node, then its zone", async () => {
    const place = async (cpuMillicores: number): Promise<string> => {
      const requests = { cpuMillicores, memoryBytes: null };
      const workloads = [
        aWorkload("db", [], { pinnedTo: "a", requests }),
        aWorkload("web", ["db"], { requests }),
      ];
      const placement = await new UpstreamContender().place(
        aPoint(aCluster(nodes, rttMs), workloads),
        null,
        random,
      );
      return placement.get("web-0")!;
    };
    expect(await place(100)).toBe("a");
    expect(await place(1_500)).toBe("b");
  });

  test("callers are dependencies as well, as in its authors' AppGroups", async () => {
    const point = aPoint(aCluster(nodes, rttMs), [
      aWorkload("web", ["db"], { pinnedTo: "d" }),
      aWorkload("db"),
    ]);
    expect((await new UpstreamContender().place(point, null, random)).get("db-0")).toBe("d");
    expect(await new UpstreamContender().adjust()).toEqual([]);
  });
});

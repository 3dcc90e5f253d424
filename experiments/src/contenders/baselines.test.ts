import { CommunicationAffinity, createNetworkOverhead, ResourceNetwork } from "@isochrone/placement";
import type { Strategy } from "@isochrone/placement";
import { DEFAULT_WEIGHTS } from "@isochrone/placement/testing";
import { seededRandom } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import { DefaultContender } from "./default.ts";
import type { SchedulingRequest } from "./kube-scheduler/port.ts";
import { PaperContender } from "./paper.ts";
import { podsOf } from "./pods.ts";
import { ContenderError } from "./port.ts";
import { graphsOf } from "./scheduling-contender.ts";
import { problemOf, strategyPlugin } from "./strategy-plugin.ts";
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
    // b has 100 % more free CPU and memory, each pod's use: 0.5 x 100. On b a replica pays 0.5 x 10 ms x
    // 5,000 B/s.
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
    // Follows the order of workloads; the paper states none.
    expect(await new PaperContender().adjust(tight, placement, before)).toEqual([
      { pod: "api-0", from: "b", to: "a" },
    ]);
  });
});

describe("paper-scaled", () => {
  test("brings each part to 0..100 before it is weighed, worked by hand", () => {
    const requests = { cpuMillicores: 500, memoryBytes: null };
    const nodes = [
      aNode("n1", { cpuMillicores: 2_000, memoryBytes: 1e9 }),
      aNode("n2", { cpuMillicores: 1_000, memoryBytes: 6e8 }),
      aNode("n3", { cpuMillicores: 500, memoryBytes: 2e8 }),
    ];
    const rttMs = [
      [0, 10, 40],
      [10, 0, 25],
      [40, 25, 0],
    ];
    const point = aPoint(aCluster(nodes, rttMs), [
      aWorkload("p", ["q", "r"], { requests }),
      aWorkload("q"),
      aWorkload("r"),
    ]);
    const idle = { cpuMillicores: 0, memoryBytes: 0 };
    const before = {
      ...observed(point, [
        ["p", "q", 1_000],
        ["p", "r", 500],
      ]),
      use: new Map([
        ["p", { cpuMillicores: 500, memoryBytes: 2e8 }],
        ["q", idle],
        ["r", idle],
      ]),
    };
    const on = new Map([
      ["q-0", "n2"],
      ["r-0", "n3"],
    ]);
    const strategy = new ResourceNetwork("scaled", { alpha: 0.5, beta: 0.5, gamma: 0.25, delta: 0.75 });
    const [pod] = podsOf(point);
    const problem = problemOf(pod!, ["n1", "n2", "n3"], graphsOf(point, before, on));
    const table = strategy.score(problem);
    // Half of CPU's 300, 100, 0 and memory's 400, 200, 0 percent; 10 x 1000 + 40 x 500, 25 x 500, 25 x 1000.
    expect([...table.parts["resource"]!]).toEqual([350, 150, 0]);
    expect([...table.parts["network"]!]).toEqual([-30_000, -12_500, -25_000]);
    const [resource, network] = [(100 * 150) / 350, (100 * 5) / 17.5];
    const expected = [0.25 * 100, 0.25 * resource + 0.75 * 100, 0.75 * network];
    for (const [row, score] of expected.entries()) {
      expect(table.score[row]).toBeCloseTo(score, 9);
      expect(table.raw[row]).toBeCloseTo(score, 9);
    }
  });

  // web takes 40 % of a; b is 10 ms from it, c 50 ms: 80 for b's network, 100 for its resources.
  const nodes = [aNode("a"), aNode("b"), aNode("c")];
  const rttMs = [
    [0, 10, 50],
    [10, 0, 50],
    [50, 50, 0],
  ];
  const point = aPoint(aCluster(nodes, rttMs), [
    aWorkload("web", ["api"], { pinnedTo: "a" }),
    aWorkload("api"),
  ]);
  const before = observed(point, [["web", "api", 1e6]], 800);
  const placement = new Map([
    ["web-0", "a"],
    ["api-0", "c"],
  ]);

  test("resources count however much the traffic is: to the free node near by, where the sum as printed stacks", async () => {
    const placed = async (id: "paper" | "paper-scaled"): Promise<string> =>
      (await new PaperContender(id).place(point, before, random)).get("api-0")!;
    expect(await placed("paper")).toBe("a");
    expect(await placed("paper-scaled")).toBe("b");
  });

  test("its descheduler goes by the same score, and says who it is", async () => {
    const scaled = new PaperContender("paper-scaled");
    expect(await scaled.adjust(point, placement, before)).toEqual([{ pod: "api-0", from: "c", to: "b" }]);
    expect(await new PaperContender("paper").adjust(point, placement, before)).toEqual([
      { pod: "api-0", from: "c", to: "a" },
    ]);
    expect([scaled.id, scaled.by]).toEqual(["paper-scaled", expect.stringContaining("scaled to 0..100")]);
  });

  test("a part that tells nodes apart by rounding alone takes no side", () => {
    const workflow = aPoint(aCluster(nodes, 0.1 + 0.2), [aWorkload("web", ["api"]), aWorkload("api")]);
    const quiet = observed(workflow, [["web", "api", 1 / 3]]);
    const [, api] = podsOf(workflow);
    const problem = problemOf(api!, ["a", "b", "c"], graphsOf(workflow, quiet, new Map([["web-0", "a"]])));
    const strategy = new ResourceNetwork("scaled", { alpha: 1, beta: 0, gamma: 0, delta: 1 });
    expect([...strategy.score(problem).score]).toEqual([50, 50, 50]);
  });
});

describe("strategies as plugins", () => {
  const nodes = [aNode("a"), aNode("b"), aNode("c"), aNode("d")];
  const rttMs = [
    [0, 20, 40, 80],
    [20, 0, 40, 80],
    [40, 40, 0, 80],
    [80, 80, 80, 0],
  ];
  const point = aPoint(aCluster(nodes, rttMs), [
    aWorkload("db", [], { pinnedTo: "a" }),
    aWorkload("web", [], {
      calls: [{ callee: "db", channelType: "AMQPRoute", requestBytes: 1, responseBytes: 1, probability: 1 }],
    }),
  ]);
  const [, web] = podsOf(point);
  const scoresOn = (strategy: Strategy, ...candidates: readonly string[]): number[] => {
    const graphs = graphsOf(point, observed(point, [["web", "db", 1e-3]]), new Map([["db-0", "a"]]));
    return Array.from(strategyPlugin(strategy, 5, graphs).score(web!, candidates));
  };

  test("sums far below 1 aren't lost when scores are cut to whole numbers", () => {
    const affinity = new CommunicationAffinity("raw", { parameters: { alpha: 0.5, beta: 0.5, gamma: 10 } });
    const { raw } = affinity.score(
      problemOf(web!, ["b", "c", "d"], graphsOf(point, null, new Map([["db-0", "a"]]))),
    );
    expect(Math.max(...raw)).toBeLessThan(1);
    const [b, c, d] = scoresOn(affinity, "b", "c", "d");
    // Latencies 1/20, 1/40 and 1/80 ms.
    expect([b, d]).toEqual([100, 0]);
    expect(c).toBeCloseTo(100 / 3, 6);
  });

  test.each([
    ["paper", new ResourceNetwork("raw")],
    ["paper-scaled", new ResourceNetwork("scaled", DEFAULT_WEIGHTS)],
    ["affinity", new CommunicationAffinity("raw")],
    ["upstream", createNetworkOverhead("upstream")],
  ] as const)("%s hands in 0 to 100", (_, strategy) => {
    for (const score of scoresOn(strategy, "a", "b", "c", "d")) {
      expect(score).toBeGreaterThanOrEqual(0);
      expect(score).toBeLessThanOrEqual(100);
    }
  });

  test("the best by the paper's sum stays the best where the default plugins are indifferent", () => {
    // Raw sums of millions differ by a millionth. After rounding to integers of 0 to 100, the best still
    // leads.
    const near = aPoint(
      aCluster(nodes, [
        [0, 20.00001, 20.00002, 80],
        [20.00001, 0, 20, 80],
        [20.00002, 20, 0, 80],
        [80, 80, 80, 0],
      ]),
      [aWorkload("db", [], { pinnedTo: "a" }), aWorkload("web", ["db"])],
    );
    const [, pod] = podsOf(near);
    const graphs = graphsOf(near, observed(near, [["db", "web", 1e6]]), new Map([["db-0", "a"]]));
    const { score } = strategyPlugin(new ResourceNetwork("raw"), 5, graphs);
    const [b, c, d] = Array.from(score(pod!, ["b", "c", "d"]), Math.trunc);
    expect([b! > c!, c! > d!]).toEqual([true, true]);
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

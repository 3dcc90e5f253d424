import { describe, expect, test } from "vitest";
import type { DescheduleInput, DisruptionBudget, MoveRules } from "./deschedule-input.ts";
import { decide, HEALTHY, moved, rowOf } from "./testing/decisions.ts";
import { shop, TWO_ZONES } from "./testing/shop.ts";
import type { ShopOptions } from "./testing/shop.ts";

const FAR: ShopOptions = {
  pods: { web: ["n3", "n4"], db: ["n1", "n2"] },
  channels: [["web", "db", 1000]],
  fixed: ["db"],
};

describe("the descheduler", () => {
  test("moves the pod that gains, one of a workload, and keeps the workload in two zones", () => {
    const decision = decide(shop(FAR));
    expect(decision.moves).toHaveLength(1);
    const [move] = decision.moves;
    expect(move!.to).toMatch(/n[12]/);
    // One of two replicas has half of the channel, half of it with each db: (20 + 20) / 2 - (0 + 1) / 2,
    // times 500.
    expect(decide(shop(FAR), { pressureShare: 0 }).moves[0]!.worth).toMatchObject({
      gain: expect.closeTo(500 * (20 - 0.5), 6),
    });
    const other = decision.rows.find(({ decision }) => decision !== "move")!;
    expect(other).toMatchObject({ decision: "max_per_workload" });
    // In the next run, the other one would be the last in zone zb.
    const next = decide(shop({ ...FAR, pods: { web: ["n1", "n4"], db: ["n1", "n2"] } }));
    expect(next.moves).toEqual([]);
    expect(rowOf(next, "web-1")).toMatchObject({ to: null, decision: "no_gain" });
  });

  test("moves a third replica, since two zones are enough", () => {
    const decision = decide(shop({ ...FAR, pods: { web: ["n1", "n3", "n4"], db: ["n1", "n2"] } }));
    expect(decision.moves).toHaveLength(1);
  });

  test("waits until a move has paid in enough runs in a row", () => {
    const far = shop(FAR);
    const rules = { rounds: 3, minGainRatio: 0.6 };
    const first = decide(far, rules);
    expect(first.moves).toEqual([]);
    expect(rowOf(first, "web-0")).toMatchObject({ decision: "rounds", rounds: 1 });
    const second = decide(far, rules, { memory: first.memory });
    expect(second.moves).toEqual([]);
    expect(decide(far, rules, { memory: second.memory }).moves).toHaveLength(1);
    const near = shop({ ...FAR, costMs: () => 1 });
    const between = decide(near, rules, { memory: second.memory });
    expect(decide(far, rules, { memory: between.memory }).moves).toEqual([]);
  });

  test("asks for the margin: a share of what the channels cost, and an amount", () => {
    const slight = shop({ ...FAR, costMs: (a, b) => (TWO_ZONES[a] === TWO_ZONES[b] ? 10 : 11) });
    expect(rowOf(decide(slight, { minGainRatio: 0.6 }), "web-0")).toMatchObject({ decision: "margin" });
    expect(decide(slight, { minGainRatio: 0.4 }).moves).toHaveLength(1);
    expect(decide(shop(FAR), { minGain: 11_000 }).moves).toEqual([]);
    expect(decide(shop(FAR), { minGain: 9_000 }).moves).toHaveLength(1);
  });

  test("counts earlier moves of the run: what is full is full", () => {
    const options: ShopOptions = {
      pods: { a: ["n3", "n4"], b: ["n3", "n4"], db: ["n1", "n2"] },
      channels: [
        ["a", "db", 1000],
        ["b", "db", 900],
      ],
      fixed: ["db"],
      cpus: 8,
      cpusOf: { n1: 2, n2: 1 },
    };
    // za has room for one pod, on n1.
    const decision = decide(shop(options));
    expect(moved(decision)).toEqual([expect.stringMatching(/^a-\d n[34]>n1$/)]);
    expect(rowOf(decision, "b-0")).toMatchObject({ decision: "infeasible" });
  });

  test("a node that a pod of this run leaves is no target: it is full until the pod is gone", () => {
    const options: ShopOptions = {
      pods: { a: ["n3", "n1"], b: ["n2", "n4"], x: ["n1", "n1"], y: ["n4", "n4"] },
      channels: [
        ["a", "x", 1000],
        ["b", "y", 1000],
      ],
      fixed: ["x", "y"],
    };
    const targets = new Set(decide(shop(options)).moves.map(({ to }) => to));
    for (const { from } of decide(shop(options)).moves) expect(targets).not.toContain(from);
  });

  test.each<[Partial<MoveRules>, string]>([
    [{ maxEvictions: 1 }, "max_evictions"],
    [{ maxEvictionsPerNode: 1 }, "max_per_node"],
    [{ maxEvictionsPerNamespace: 1 }, "max_per_namespace"],
  ])("keeps to %j", (rules, reason) => {
    const two: ShopOptions = {
      pods: { a: ["n3", "n3", "n4"], b: ["n3", "n3", "n4"], db: ["n1", "n2"] },
      channels: [
        ["a", "db", 1000],
        ["b", "db", 1000],
      ],
      fixed: ["db"],
    };
    expect(decide(shop(two)).moves).toHaveLength(2);
    const decision = decide(shop(two), rules);
    expect(decision.moves).toHaveLength(reason === "max_per_node" ? decision.moves.length : 1);
    expect(new Set(decision.moves.map(({ from }) => from)).size).toBe(decision.moves.length);
    expect(decision.rows.map((row) => row.decision)).toContain(reason);
  });

  test("moves two together that only together gain", () => {
    // Alone, a-0 would gain 20 x 350 and lose 20 x 500 - 250. Together they gain 2 x 7,000 and lose 2 x
    // (5,000 - 250).
    const options: ShopOptions = {
      pods: { a: ["n3", "n4"], b: ["n3", "n4"], db: ["n1", "n1"] },
      channels: [
        ["a", "b", 1000],
        ["a", "db", 700],
        ["b", "db", 700],
      ],
      fixed: ["db", "a-1", "b-1"],
    };
    const rules = { minGainRatio: 0.1, pressureShare: 0 };
    const together = decide(shop(options), rules);
    expect(moved(together).sort()).toEqual(["a-0 n3>n1", "b-0 n3>n1"]);
    expect(together.moves[0]).toMatchObject({
      worth: { gain: expect.closeTo(4_500), pods: 2 },
      together: [expect.any(String)],
    });
    // Each pod pays 350 x 20 to db, and 250 x 1 to the other workload's pod on n4.
    for (const name of ["a-0", "b-0"])
      expect(rowOf(together, name)).toMatchObject({
        gain: expect.closeTo(4_500),
        cost: expect.closeTo(2 * (7_000 + 250)),
        groupSize: 2,
      });
    expect(decide(shop(options), { ...rules, maxGroup: 1 }).moves).toEqual([]);
    const half = decide(shop(options), { ...rules, maxEvictions: 1 });
    expect(half.moves).toEqual([]);
    expect(half.rows.map((row) => row.decision)).toEqual(["max_evictions", "max_evictions"]);
  });

  test("moves only what PodDisruptionBudgets let go: one pod alone, or all of a group", () => {
    const options: ShopOptions = {
      pods: { a: ["n3", "n4"], b: ["n3", "n4"], db: ["n1", "n1"] },
      channels: [
        ["a", "b", 1000],
        ["a", "db", 700],
        ["b", "db", 700],
      ],
      fixed: ["db", "a-1", "b-1"],
    };
    const rules = { minGainRatio: 0.1, pressureShare: 0 };
    const allowing = (allowed: number): DisruptionBudget => ({
      name: "shop/all",
      allowed,
      covers: () => true,
    });
    const decided = (allowed: number) =>
      decide(shop(options), rules, { disruptionBudgets: [allowing(allowed)] });
    expect(decided(2).moves).toHaveLength(2);
    expect(decided(1).moves).toEqual([]);
    expect(rowOf(decided(1), "a-0")).toMatchObject({
      decision: "disruption_budget",
      detail: "the PodDisruptionBudget shop/all allows 1 disruptions now",
    });
    const other = { ...allowing(0), covers: () => false };
    expect(decide(shop(options), rules, { disruptionBudgets: [other] }).moves).toHaveLength(2);
    const alone = decide(shop(FAR), {}, { disruptionBudgets: [allowing(0)] });
    expect(alone.moves).toEqual([]);
    expect(rowOf(alone, "web-0")).toMatchObject({ decision: "disruption_budget" });
    expect(decide(shop(FAR), {}, { disruptionBudgets: [allowing(1)] }).moves).toHaveLength(1);
    // The eviction API refuses a pod that two budgets cover.
    const twice = decide(shop(FAR), {}, { disruptionBudgets: [allowing(5), allowing(5)] });
    expect(twice.moves).toEqual([]);
    expect(rowOf(twice, "web-0")!.detail).toContain("2 PodDisruptionBudgets cover it");
  });

  describe("evicts no more per hour than its budget", () => {
    const evicted = (count: number, owner: string, workflow: string) =>
      Array.from({ length: count }, () => ({ owner, workflow }));
    // A workflow gets 10 of 20 per hour, a workload 2.
    test.each<[string, ReturnType<typeof evicted>, string | null]>([
      ["nothing was evicted", [], null],
      ["the cluster has one left", evicted(19, "x/y", "x/flow"), null],
      ["the cluster has none left", evicted(20, "x/y", "x/flow"), "at most 20 pods are evicted per hour"],
      ["the workflow has one left", evicted(9, "shop/other", "shop/flow"), null],
      ["the workflow has none left", evicted(10, "shop/other", "shop/flow"), "10 pods of workflow shop/flow"],
      ["the workload has one left", evicted(1, "shop/web", "shop/flow"), null],
      ["the workload has none left", evicted(2, "shop/web", "shop/flow"), "at most 2 pods of shop/web"],
    ])("when %s", (_, recent, refusal) => {
      const decision = decide(shop(FAR), { maxEvictionsPerHour: 20 }, { recent });
      expect(decision.moves).toHaveLength(refusal === null ? 1 : 0);
      const kept = decision.rows.filter((row) => row.decision === "max_per_hour");
      const isNamed = kept.every(({ detail }) => detail.includes(refusal ?? "nothing"));
      expect([kept.length > 0, isNamed]).toEqual([refusal !== null, true]);
    });
  });

  describe("moves nobody for less than a tenth of a millisecond per request", () => {
    // Half of web's traffic goes to each db; to the other zone it takes `gapMs` longer.
    const near = (gapMs: number, rate: number): ShopOptions => ({
      ...FAR,
      channels: [["web", "db", rate]],
      costMs: (a, b) => (TWO_ZONES[a] === TWO_ZONES[b] ? 0.1 : 0.1 + gapMs),
    });
    test.each([1, 1_000, 1e9])("at %d bytes per second", (rate) => {
      const rules = { minGainRatio: 0, pressureShare: 0 };
      expect(decide(shop(near(0.04, rate)), rules).moves).toEqual([]);
      expect(decide(shop(near(0.06, rate)), rules).moves).toHaveLength(1);
    });
  });

  test("moves nobody to a mirror image of where the pods are", () => {
    // Two equal zones with one free place, and links that differ only by measurement noise.
    const nodes = { n1: "za", n2: "za", n3: "za", n4: "zb", n5: "zb", n6: "zb" };
    const zoneOf = (node: string): string => (node < "n4" ? "za" : "zb");
    for (let seed = 0; seed < 20; seed++) {
      const noiseMs = (a: string, b: string): number =>
        0.09 * Math.abs(Math.sin(100 * seed + 7 * Number(a.slice(1)) + 31 * Number(b.slice(1))));
      const decision = decide(
        shop({
          nodes,
          pods: { a: ["n1"], b: ["n2"], c: ["n3"] },
          channels: [
            ["a", "b", 1_000],
            ["b", "c", 2_000],
          ],
          costMs: (a, b) => (zoneOf(a) === zoneOf(b) ? 0.3 : 20) + noiseMs(a, b),
          cpus: 1,
        }),
        { minNodes: 1, minZones: 1, minGainRatio: 0, pressureShare: 0 },
      );
      expect(moved(decision)).toEqual([]);
      expect(decision.memory.streaks.size).toBe(0);
    }
  });

  describe("asks of a move, beside what its pods' channels cost, that it gains", () => {
    /** Another channel has 100 times the traffic of web's, between fixed distant pods. */
    const heavy: ShopOptions = {
      ...FAR,
      pods: { ...FAR.pods, x: ["n1"], y: ["n3"] },
      channels: [...FAR.channels, ["x", "y", 100_000]],
      fixed: ["db", "x", "y"],
    };
    // Channels cost 1,000 x 20 + 100,000 x 20 = 2,020,000; the move gains 500 x (20 - 0.5) = 9,750, 0.48 % of
    // it.
    test.each([
      [0, "move"],
      [0.0048, "move"],
      [0.0049, "margin"],
    ])("a share of what the workflow costs: %d", (minWorkflowGainRatio, what) => {
      const decision = decide(shop(heavy), { minWorkflowGainRatio, pressureShare: 0 });
      expect(rowOf(decision, "web-0")).toMatchObject({ decision: what });
    });

    // 250 bytes/s with each of n1 and n2, each cost with error e: e x 250 x sqrt(3).
    test.each([
      [9_750 / (250 * Math.sqrt(3)) - 0.1, 1],
      [9_750 / (250 * Math.sqrt(3)) + 0.1, 0],
    ])("more than the links' errors of %d ms can make up", (errorMs, moves) => {
      const measured = shop({ ...FAR, errorMs });
      expect(decide(measured, { pressureShare: 0 }).moves).toHaveLength(moves);
    });
  });

  test("leaves out nodes that the cluster as a whole refuses", () => {
    const asked: string[] = [];
    const decision = decide(
      shop(FAR),
      {},
      {
        cluster: {
          verdict: (_, node) => {
            asked.push(node);
            return node === "n1" ? "NodePorts: taken" : null;
          },
          moved: () => undefined,
        },
      },
    );
    expect(asked).toContain("n1");
    expect(decision.moves.map(({ to }) => to)).toEqual(["n2"]);
  });

  test.each<[string, Partial<DescheduleInput>, string]>([
    ["many pods aren't ready", { health: { ...HEALTHY, unreadyPods: 3 } }, "unready"],
    ["many nodes aren't ready", { health: { ...HEALTHY, unreadyNodes: 2 } }, "unready"],
    ["it isn't time", { closed: { reason: "maintenance", detail: "no window is open" } }, "maintenance"],
  ])("moves nothing while %s, and says what it would move", (_, more, reason) => {
    const decision = decide(shop(FAR), {}, more);
    expect(decision.halt).toMatchObject({ reason });
    expect(decision.moves).toEqual([]);
    expect(rowOf(decision, "web-0")).toMatchObject({ decision: "halted" });
    expect(decision.memory.streaks.size).toBeGreaterThan(0);
  });

  test("one pod that isn't ready among few stops nobody", () => {
    expect(decide(shop(FAR), {}, { health: { ...HEALTHY, pods: 4, unreadyPods: 1 } }).moves).toHaveLength(1);
  });

  test("moves nothing by priorities alone, nor without costs", () => {
    const silent = shop({ ...FAR, channels: [["web", "db", Number.NaN]] });
    const unmeasured = {
      ...silent,
      workflow: {
        ...silent.workflow,
        problem: { ...silent.workflow.problem, workflow: shop({ ...FAR, channels: [] }).graph },
      },
    };
    const decision = decide(unmeasured);
    expect(decision.moves).toEqual([]);
    expect(rowOf(decision, "web-0")).toMatchObject({
      decision: "no_gain",
      detail: expect.stringContaining("isn't measured"),
    });
  });

  test("never moves against the pods' own rules", () => {
    const apart = {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "db" } } },
          ],
        },
      },
    };
    const options = { ...FAR, spec: (name: string) => (name === "web" ? apart : {}) };
    expect(decide(shop(options)).moves).toEqual([]);
  });

  describe("of a node that is really overloaded", () => {
    const BUSY: ShopOptions = {
      pods: { web: ["n1", "n3"], db: ["n1"] },
      channels: [["web", "db", 1000]],
      fixed: ["db"],
      use: { web: 2_000, db: 2_000 },
      usedOf: { n1: 7_600, n2: 1_000, n3: 1_000, n4: 1_000 },
    };

    test("moves as much as it takes to where it costs the network least", () => {
      const decision = decide(shop(BUSY));
      expect(moved(decision)).toEqual(["web-0 n1>n2"]);
      // 1,200 of 4,000 millicores in excess, times ten, of the traffic's cost at the median latency; minus
      // half of the traffic at 1 ms.
      expect(decision.moves[0]!.worth).toMatchObject({
        gain: expect.closeTo((10 * 1000 * 20 * 1_200) / 4_000 - 500, -1),
      });
      const next = decide(
        shop({
          ...BUSY,
          pods: { web: ["n2", "n3"], db: ["n1"] },
          usedOf: { n1: 5_600, n2: 3_000, n3: 1_000, n4: 1_000 },
        }),
      );
      expect(next.moves).toEqual([]);
    });

    test("moves nobody when all nodes are, when that doesn't matter, or while nobody knows", () => {
      const all = { n1: 7_600, n2: 7_600, n3: 7_600, n4: 7_600 };
      expect(decide(shop({ ...BUSY, usedOf: all })).moves).toEqual([]);
      expect(decide(shop(BUSY), { maxCpuUse: 0 }).moves).toEqual([]);
      const { usedOf: _, ...unknown } = BUSY;
      expect(decide(shop(unknown)).moves).toEqual([]);
    });

    test("moves nobody to where it would be overloaded, however near", () => {
      const nodes = { ...TWO_ZONES, n5: "za" };
      const near = { ...BUSY, nodes, costMs: (a: string, b: string) => (a < "n3" && b < "n3" ? 1 : 20) };
      const usedOf = { n1: 7_600, n2: 6_000, n3: 1_000, n4: 1_000, n5: 1_000 };
      expect(moved(decide(shop({ ...near, usedOf })))).toEqual(["web-0 n1>n5"]);
      expect(moved(decide(shop({ ...near, usedOf: { ...usedOf, n2: 1_000 } })))).toEqual(["web-0 n1>n2"]);
    });
  });
});

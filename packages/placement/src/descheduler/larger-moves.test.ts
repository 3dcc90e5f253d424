import { describe, expect, test } from "vitest";
import { decideInSteps, decideMoves } from "./decide.ts";
import type { DescheduleDecision, DisruptionBudget } from "./deschedule-input.ts";
import { decide, inputOf, moved, rowOf } from "./testing/decisions.ts";
import { shop } from "./testing/shop.ts";
import type { Shop, ShopOptions } from "./testing/shop.ts";

describe("a larger move", () => {
  // Six tiers in za and zb talk to each other; zb moves far away. A pod that leaves zb alone is far from the
  // rest.
  const tiers = ["t0", "t1", "t2", "t3", "t4", "t5"];
  const options: ShopOptions = {
    nodes: { n1: "za", n2: "za", n3: "zb", n4: "zb", n5: "zc", n6: "zc" },
    pods: Object.fromEntries(tiers.map((name) => [name, ["n1", "n3"]])),
    channels: tiers.flatMap((a, index) => tiers.slice(index + 1).map((b) => [a, b, 1000] as const)),
    costMs: (a, b) => {
      const zone = (node: string): string => (node < "n3" ? "za" : node < "n5" ? "zb" : "zc");
      if (zone(a) === zone(b)) return 0.1;
      return zone(a) === "zb" || zone(b) === "zb" ? 60 : 5;
    },
  };
  const rules = { pressureShare: 0, maxGroup: 2 };
  const first = decide(shop(options), { ...rules, maxEvictions: 4 });

  test("begins when only all of it gains, with as many pods as the budgets let through", () => {
    expect(decide(shop(options), { ...rules, maxGroup: 1 }).moves).toEqual([]);
    expect(first.moves).toHaveLength(4);
    expect(first.moves.every(({ from, to }) => from === "n3" && to > "n4")).toBe(true);
    expect(first.rows.map((row) => row.detail)).toContain("part of a larger move of 6 pods");
    expect(first.memory.campaigns.get("shop/flow")!.moves).toHaveLength(6);
  });

  describe("that gains more than one of fewer pods", () => {
    const store = { ...options.pods, side: ["n1", "n3"], store: ["n5", "n6"] };
    const alone: ShopOptions = {
      ...options,
      pods: store,
      channels: [["side", "store", 500]],
      fixed: ["store"],
    };
    const both = shop({ ...alone, channels: [...alone.channels, ...options.channels] });
    const twice = { ...rules, rounds: 2 };
    const { memory } = decide(shop(alone), twice);
    const second = decide(both, twice, { memory });

    test("comes first: workloads that were moved would be missing in it", () => {
      expect(second.moves).toEqual([]);
      expect(rowOf(second, "side-1")).toMatchObject({ decision: "rounds" });
      const third = decide(both, twice, { memory: second.memory });
      expect(third.moves.filter(({ pod }) => pod.name.startsWith("t")).length).toBeGreaterThanOrEqual(6);
    });

    test("isn't waited for when it is another one in each run", () => {
      let last = second;
      for (let run = 3; run <= 4; run++) {
        expect(last.moves).toEqual([]);
        const streaks = [...last.memory.streaks].filter(([, { moves }]) => moves.length === 1);
        last = decide(both, twice, { memory: { ...last.memory, streaks: new Map(streaks) } });
      }
      expect(last.moves.map(({ pod }) => pod.name)).toContain("side-1");
      expect(last.memory.campaigns.size).toBe(0);
    });
  });

  const after = ({ moves }: DescheduleDecision): Shop => {
    const pods = Object.fromEntries(
      tiers.map((name) => {
        const move = moves.find(({ pod }) => pod.name === `${name}-1`);
        return [name, ["n1", move?.to ?? "n3"]];
      }),
    );
    return shop({ ...options, pods });
  };

  describe("and PodDisruptionBudgets", () => {
    const budget = (allowed: number, tiers: RegExp): DisruptionBudget => ({
      name: `shop/${tiers.source}`,
      allowed,
      covers: ({ name }) => tiers.test(name),
    });
    const begun = (...disruptionBudgets: readonly DisruptionBudget[]): DescheduleDecision =>
      decide(shop(options), rules, { disruptionBudgets });

    test("is not begun while one of its pods couldn't go", () => {
      const decision = begun(budget(0, /^t5/));
      expect(decision.moves).toEqual([]);
      expect(decision.memory.campaigns.size).toBe(0);
      expect(rowOf(decision, "t0-1")).toMatchObject({
        decision: "disruption_budget",
        groupSize: 6,
        detail: "the PodDisruptionBudget shop/^t5 allows 0 disruptions now",
      });
      expect(decide(shop(options), { ...rules, rounds: 2 }, { memory: decision.memory }).moves).toHaveLength(
        6,
      );
    });

    test("takes as many pods of a budget in a run as it allows, the others later", () => {
      const decision = begun(budget(1, /^t[0-3]/));
      expect(decision.moves).toHaveLength(3);
      expect(decision.rows.filter((row) => row.decision === "disruption_budget")).toHaveLength(3);
      expect(decision.memory.campaigns.get("shop/flow")!.moves).toHaveLength(6);
    });

    test("is over when they let none of its pods go for some runs", () => {
      let last = first;
      for (let run = 0; run < 5; run++) {
        expect(last.memory.campaigns.size).toBe(1);
        const disruptionBudgets = [budget(0, /./)];
        last = decide(after(first), rules, { memory: last.memory, disruptionBudgets });
        expect(last.moves.filter(({ isPart }) => isPart)).toEqual([]);
      }
      expect(last.memory.campaigns.size).toBe(0);
    });
  });

  test("shows what all of it gains, not a pod's share", () => {
    // Each of the 15 channels has a quarter of 1,000 bytes/s in each direction between za and zb, 60 ms
    // apart.
    const cost = 15 * 250 * (60 + 60);
    for (const { pod, isPart, worth } of first.moves) {
      expect(isPart).toBe(true);
      expect(worth).toMatchObject({ cost: expect.closeTo(cost), pods: 6 });
      const { gain } = worth as Extract<typeof worth, { kind: "cost" }>;
      expect(gain).toBeCloseTo(15 * 250 * 2 * 55);
      expect(rowOf(first, pod.name)).toMatchObject({ gain, cost: expect.closeTo(cost), groupSize: 6 });
    }
  });

  test("goes on in the next run without waiting for rounds, and ends", () => {
    const second = decide(after(first), { ...rules, rounds: 5 }, { memory: first.memory });
    expect(second.moves).toHaveLength(2);
    const all = { ...first, moves: [...first.moves, ...second.moves] };
    const third = decide(after(all), rules, { memory: second.memory });
    expect(third.moves).toEqual([]);
  });

  test("is given up when finishing it gains nothing any more", () => {
    const near = { ...options, costMs: () => 5 };
    let last: DescheduleDecision = first;
    for (let run = 0; run < 5; run++) {
      expect(last.memory.campaigns.size).toBe(1);
      last = decide(shop(near), { ...rules, rounds: 5 }, { memory: last.memory });
      expect(last.moves).toEqual([]);
    }
    // The remembered campaign blocks all other moves of the workflow.
    expect(last.memory.campaigns.size).toBe(0);
  });

  test("is forgotten a while after its pods have got where they should, and others follow", () => {
    const { moves, memory } = first;
    let last = { moves, memory };
    const done = after({
      ...first,
      moves: tiers.map((name) => ({ ...moves[0]!, pod: { ...moves[0]!.pod, name: `${name}-1` } })),
    });
    for (let run = 0; run < 5; run++) {
      expect(last.memory.campaigns.size).toBe(1);
      last = decide(done, rules, { memory: last.memory });
    }
    expect(last.memory.campaigns.size).toBe(0);
  });

  test("is over in the next run when all its pods are gone: others needn't wait", () => {
    const { moves } = first.memory.campaigns.get("shop/flow")!;
    const some = decide(after(first), rules, { memory: first.memory, uids: new Set([moves[0]!.uid]) });
    expect(some.memory.campaigns.size).toBe(1);
    const none = decide(after(first), rules, { memory: first.memory, uids: new Set(["another"]) });
    expect(none.memory.campaigns.size).toBe(0);
  });

  test("is decided in steps, of which none searches for more than one plan", () => {
    const input = inputOf(shop(options), rules);
    const steps = decideInSteps(input);
    let count = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) count++;
    expect(step.value).toEqual(decideMoves(input));
    // One plan per zone to leave, one for the whole, and one per pod.
    expect(count).toBeGreaterThan(tiers.length * 2 + 4);
  });

  test("waits while nothing may be moved", () => {
    const halted = decide(after(first), rules, {
      memory: first.memory,
      closed: { reason: "maintenance", detail: "no window is open" },
    });
    expect(halted.moves).toEqual([]);
    expect(decide(after(first), rules, { memory: halted.memory }).moves).toHaveLength(2);
  });
});

describe("where nodes are full", () => {
  const rules = { pressureShare: 0, minNodes: 1, minZones: 1 };
  // Two pods fit on a node. p belongs on n2, q on n3. r occupies q's place and would lose little on n4.
  const chain = (where: Readonly<Record<string, string>>): Shop =>
    shop({
      cpus: 2,
      nodes: { n1: "za", n2: "zb", n3: "zc", n4: "zd" },
      pods: {
        p: [where["p"]!],
        q: [where["q"]!],
        r: [where["r"]!],
        one: ["n1"],
        two: ["n2"],
        three: ["n3"],
        four: ["n4"],
        ...(where["late"] === undefined ? {} : { late: [where["late"]] }),
      },
      channels: [
        ["p", "two", 1000],
        ["q", "three", 1000],
        ["r", "three", 10],
      ],
      costMs: () => 20,
      fixed: ["one", "two", "three", "four", "late"],
    });
  const before = { p: "n1", q: "n2", r: "n3" };

  test("pods take each other's places in turn, though the first one loses by it", () => {
    const first = decide(chain(before), rules);
    expect(moved(first)).toEqual(["r-0 n3>n4"]);
    expect(first.rows.map((row) => row.detail)).toContain("part of a larger move of 3 pods; not in this run");
    const second = decide(chain({ ...before, r: "n4" }), { ...rules, rounds: 5 }, { memory: first.memory });
    expect(moved(second)).toEqual(["q-0 n2>n3"]);
    const third = decide(
      chain({ p: "n1", q: "n3", r: "n4" }),
      { ...rules, rounds: 5 },
      { memory: second.memory },
    );
    expect(moved(third)).toEqual(["p-0 n1>n2"]);
    const last = decide(chain({ p: "n2", q: "n3", r: "n4" }), rules, { memory: third.memory });
    expect(last.moves).toEqual([]);
  });

  test("nothing is begun that can't be brought to an end: two that would have to change places at once", () => {
    const swapped = shop({
      cpus: 2,
      nodes: { n1: "za", n2: "zb" },
      pods: { p: ["n1"], q: ["n2"], one: ["n1"], two: ["n2"] },
      channels: [
        ["p", "two", 1000],
        ["q", "one", 1000],
      ],
      fixed: ["one", "two"],
    });
    const decision = decide(swapped, rules);
    expect(decision.moves).toEqual([]);
    expect(decision.memory.streaks.size).toBe(0);
  });

  test("what has to wait for a budget isn't given up", () => {
    let last = decide(chain(before), { ...rules, maxEvictions: 0 });
    for (let run = 0; run < 8; run++) {
      expect(last.moves).toEqual([]);
      expect(last.memory.campaigns.size).toBe(1);
      last = decide(chain(before), { ...rules, maxEvictions: 0 }, { memory: last.memory });
    }
    expect(moved(decide(chain(before), rules, { memory: last.memory }))).toEqual(["r-0 n3>n4"]);
  });

  test("what was begun is over a while after somebody else has taken the room", () => {
    let last = decide(chain(before), rules);
    const taken = chain({ ...before, late: "n4" });
    for (let run = 0; run < 5; run++) {
      expect(last.memory.campaigns.size).toBe(1);
      last = decide(taken, rules, { memory: last.memory });
      expect(last.moves).toEqual([]);
    }
    expect(last.memory.campaigns.size).toBe(0);
  });
});

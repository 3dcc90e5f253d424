import { describe, expect, test } from "vitest";
import { CombinedStrategy } from "./scoring/combined-strategy.ts";
import type { CommunicationAffinity } from "./communication-affinity/communication-affinity.ts";
import { ColumnPool } from "./scoring/columns.ts";
import { createStrategy, resolvedProfile } from "./profile.ts";
import type { ResourceNetwork } from "./resource-network/resource-network.ts";
import { allCandidates } from "./scoring/score-table.ts";
import { channel, handWorked } from "./testing/problems.ts";

const rounded = (column: Float64Array): number[] => [...column].map((value) => Number(value.toFixed(6)));

describe("a profile of one strategy", () => {
  test.each([
    ["resource-network", "normalized"],
    ["communication-affinity", "normalized"],
    ["network-overhead", "strict"],
    ["network-overhead/upstream", "upstream"],
    ["communication-affinity/raw", "raw"],
  ])("%s has mode %s when no other is asked for", (strategy, mode) => {
    expect(createStrategy({ strategy })).toMatchObject({ name: strategy.split("/")[0], mode });
  });

  test("takes settings under its own name before those for all", () => {
    const strategy = createStrategy({
      strategy: "communication-affinity",
      settings: { alpha: 3, "communication-affinity.alpha": 2, "resource-network.alpha": 0.1, gamma: 7 },
    });
    expect((strategy as CommunicationAffinity).parameters).toEqual({ alpha: 2, beta: 0.5, gamma: 7 });
  });

  test("takes relationship types", () => {
    const strategy = createStrategy({
      strategy: "communication-affinity",
      mode: "raw",
      channelPriorities: "Pigeon=4",
    });
    const table = strategy.score(handWorked({}, [channel("p", "q", null, { relationshipType: "Pigeon" })]));
    expect(table.parts["priority"]![1]).toBe(40);
  });
});

describe("a profile of several strategies", () => {
  const both = createStrategy({ strategy: "resource-network=3, communication-affinity/raw = 1" });
  const problem = handWorked({}, [
    channel("p", "q", 1_000, { priority: 100 }),
    channel("r", "p", 500, { priority: 5 }),
  ]);

  test("gives the weighted mean of their scores", () => {
    const [first, second] = ["resource-network", "communication-affinity/raw"].map(
      (strategy) => createStrategy({ strategy }).score(problem).score,
    );
    const table = both.score(problem);
    const mean = Float64Array.from(first!, (value, row) => 0.75 * value + 0.25 * second![row]!);
    expect(rounded(table.score)).toEqual(rounded(mean));
    expect(table).toMatchObject({ strategy: "resource-network+communication-affinity", mode: "combined" });
  });

  test("shows the parts of each, and says which decided", () => {
    const table = both.score(problem);
    expect(Object.keys(table.parts)).toEqual([
      ...["cpu", "memory", "resource", "network"].map((part) => `resource-network.${part}`),
      ...["priority", "traffic"].map((part) => `communication-affinity.${part}`),
    ]);
    expect(table.parts["resource-network.cpu"]).toEqual(new Float64Array([80, 100 / 1.5, 50]));
    expect(table.explanation).toMatchObject({ best: "n2", decidedBy: "communication-affinity", neutral: [] });
  });

  test("says of each strategy what was neutral and what stood in", () => {
    const requests = [channel("p", "q", null, { requestsPerSecond: 3 })];
    const { explanation } = both.score(handWorked({}, requests));
    expect(explanation.neutral.map(({ part }) => part)).toEqual([
      "communication-affinity.priority",
      "communication-affinity.traffic",
    ]);
    expect(explanation.sentences.join(" ")).toContain(
      "By resource-network: channels whose bytes nobody counts were valued at 2000 bytes per request",
    );
    expect(explanation.inputs).toMatchObject({ channelsByRequests: 1, bytesPerRequest: 2_000 });
  });

  test("keeps its columns when it scores again without a pool, and gives them up with one", () => {
    const table = both.score(problem);
    const before = allCandidates(table);
    both.score(handWorked({ candidates: ["n3", "n1", "n2"] }));
    expect(allCandidates(table)).toEqual(before);
    const pool = new ColumnPool();
    expect(allCandidates(both.score(problem, pool))).toEqual(before);
  });

  test("scores infeasible nodes 0", () => {
    const infeasible = new Map([["n2", "no"]]);
    const table = both.score({ ...problem, infeasible });
    expect(table.score[1]).toBe(0);
    expect(table.explanation.best).not.toBe("n2");
  });

  test("rejects by the rules of each, and by the common limits for one that has none", () => {
    const limited = handWorked({}, [channel("p", "q", 1, { maxNetworkCost: 5 })]);
    const mixed = createStrategy({ strategy: "network-overhead/upstream,resource-network" });
    expect(mixed).toBeInstanceOf(CombinedStrategy);
    expect([...mixed.filter!(limited).keys()].sort()).toEqual(["n1", "n3"]);
  });
});

test.each([
  ["resource-network=0,communication-affinity=0", /weights of strategy must add up to more than 0/],
  ["resource-network=-1", /weight of resource-network must be a finite number of at least 0, got -1/],
  ["resource-network=x", /weight of resource-network must be .* got x/],
  ["resource-network,resource-network/raw", /must name each strategy once, got resource-network twice/],
  ["resource-network,", /strategy must be one of .* got $/],
  ["network-overhead/raw", /mode of network-overhead must be one of strict, upstream, got raw/],
])("%j is refused", (strategy, message) => {
  expect(() => createStrategy({ strategy })).toThrow(message);
});

test.each([
  [{ minSpread: 2 }, /minSpread must be from 0 to 1, got 2/],
  [{ "network-overhead.alpha": 1 }, /settings must be of .* got network-overhead\.alpha/],
])("settings %j are refused", (settings, message) => {
  expect(() => createStrategy({ strategy: "resource-network", settings })).toThrow(message);
});

describe("a profile of resource-network", () => {
  test.each([
    [
      { strategy: "magic", mode: "raw" },
      /strategy must be one of resource-network, communication-affinity, network-overhead, got magic/,
    ],
    [
      { strategy: "resource-network", mode: "fair" },
      /mode of resource-network must be one of normalized, raw, scaled, got fair/,
    ],
    [
      { strategy: "resource-network", mode: "raw", settings: { alpha: 1.5 } },
      /alpha must be from 0 to 1, got 1\.5/,
    ],
    [
      { strategy: "resource-network", mode: "raw", settings: { alpha: Number.NaN } },
      /alpha must be from 0 to 1, got NaN/,
    ],
    [
      { strategy: "resource-network", mode: "raw", settings: { alpha: 0.4, beta: 0.4 } },
      /alpha \+ beta must be 1, got 0\.4 \+ 0\.4 = 0\.8/,
    ],
    [
      { strategy: "resource-network", mode: "raw", settings: { gamma: 1, delta: 1 } },
      /gamma \+ delta must be 1/,
    ],
    [
      { strategy: "resource-network", mode: "raw", settings: { omega: 1 } },
      /settings must be of alpha, beta, gamma, delta, bytesPerRequest, minSpread, got omega/,
    ],
  ])("%j is refused with setting, rule and value", (profile, message) => {
    expect(() => createStrategy(profile)).toThrow(message);
  });

  test("with one weight of a pair gives the other what is left", () => {
    const strategy = createStrategy({
      strategy: "resource-network",
      mode: "raw",
      settings: { alpha: 0.1, delta: 0.3 },
    });
    expect((strategy as ResourceNetwork).weights).toEqual({ alpha: 0.1, beta: 0.9, gamma: 0.7, delta: 0.3 });
  });
});

describe("a resolved profile", () => {
  test("says mode and all settings of its strategy, and nothing of others", () => {
    const settings = { "resource-network.gamma": 0.2, "communication-affinity.alpha": 3, bytesPerRequest: 7 };
    expect(
      resolvedProfile({ strategy: "resource-network", settings, channelPriorities: "Pigeon=4" }),
    ).toEqual({
      strategy: "resource-network/normalized",
      settings: {
        "resource-network.alpha": 0.5,
        "resource-network.beta": 0.5,
        "resource-network.gamma": 0.2,
        "resource-network.delta": 0.8,
        "resource-network.bytesPerRequest": 7,
        "resource-network.minSpread": 0.1,
      },
      channelPriorities: "",
    });
  });

  test.each([
    { strategy: "network-overhead", mode: "upstream" },
    { strategy: "communication-affinity/raw", channelPriorities: "Pigeon=4", settings: { gamma: 3 } },
    {
      strategy: "resource-network=3, communication-affinity/raw = 1",
      settings: { beta: 0.1, minSpread: 0.3 },
    },
  ])("of %j makes the same strategy", (profile) => {
    const problem = handWorked({}, [
      channel("p", "q", 1_000, { priority: 100, relationshipType: "Pigeon", origin: "declared" }),
      channel("r", "p", 500, { priority: 5 }),
    ]);
    const [given, resolved] = [profile, resolvedProfile(profile)].map((each) => {
      const { strategy, mode, raw, score } = createStrategy(each).score(problem);
      return { strategy, mode, raw: [...raw], score: [...score] };
    });
    expect(resolved).toEqual(given);
    expect(resolvedProfile(resolvedProfile(profile))).toEqual(resolvedProfile(profile));
  });
});

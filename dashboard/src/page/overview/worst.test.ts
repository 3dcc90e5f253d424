import { describe, expect, test } from "vitest";
import { worstOf, type Known } from "./worst.ts";

const calm: Known = {
  summary: { dead: 0, lossy: 0, lossiest: null },
  worst: [{ source: "a", target: "b", isDead: false }],
  down: [],
  findings: [],
  departures: null,
  timeOf: (at) => at.slice(11, 16),
  gain: null,
  requests: null,
};
const gain = {
  workflow: { namespace: "shop", name: "cart" },
  todayMs: 60,
  bestMs: 20,
  allTodayMs: 200,
  allBestMs: 70,
  moves: 2,
  blocked: 0,
  errorRatio: 0.1,
};

const little = { allTodayMs: 100, allBestMs: 99 };

describe("the worst things", () => {
  test("are none where all is well, and no gain that is too small to matter is one", () => {
    expect(worstOf(calm)).toEqual([]);
    expect(worstOf({ ...calm, gain: { ...gain, ...little, todayMs: 2, bestMs: 1.5 } })).toEqual([]);
    expect(worstOf({ ...calm, gain: { ...gain, ...little, todayMs: 60, bestMs: 58 } })).toEqual([]);
  });

  test("come worst first, three at most, each with its next step and where to take it", () => {
    const finding = { level: "bad", title: "The aggregator isn't ready", remedy: "Read its log." } as const;
    const concerns = worstOf({
      ...calm,
      summary: { dead: 2, lossy: 3, lossiest: { source: "a", target: "c", ratio: 0.05 } },
      worst: [{ source: "a", target: "b", isDead: true }],
      findings: [{ level: "warn", title: "Old", remedy: "Look." }, finding],
      gain,
    });
    expect(concerns.map(({ level, title, to }) => [level, title, to.place.page])).toEqual([
      ["bad", "2 pairs of nodes without an answer, such as a → b", "pair"],
      ["bad", "The aggregator isn't ready", "health"],
      ["warn", "3 pairs of nodes lose packets: a → c lost 5 % of the newest packets", "pair"],
    ]);
    expect(concerns.map(({ next }) => next)).toEqual([
      "Open the pair: since when, and whether the way back works.",
      "Read its log.",
      "Open the pair. In the matrix by loss, see whether such pairs share a node or a zone.",
    ]);
  });

  test("name the pairs that changed", () => {
    const departures = {
      pairs: [
        {
          source: "a",
          target: "b",
          kind: "latency",
          since: "2026-01-01T14:35:00Z",
          now: 60.2,
          before: 1.31,
          error: 0.5,
          acceptedAt: "2026-01-01T15:35:00Z",
          workloads: [],
        },
      ],
      counts: { latency: 1, loss: 0 },
      common: [],
    } as const satisfies Known["departures"];
    const concerns = worstOf({ ...calm, summary: { dead: 0, lossy: 0, lossiest: null }, departures });
    expect(concerns).toMatchObject([
      {
        title: "a ↔ b: 60 ms since 14:35, 1.3 before; nothing talks over it",
        to: { place: { page: "pair", source: "a", target: "b" } },
      },
    ]);
  });

  test("what the instruments warn of comes behind what they show", () => {
    const findings = [{ level: "warn", title: "Old", remedy: "Look." }] as const;
    const pages = worstOf({ ...calm, findings, gain }).map(({ to }) => to.place.page);
    expect(pages).toEqual(["workflows", "health"]);
  });

  test("name requests that fail before anything else", () => {
    expect(worstOf({ ...calm, requests: { answered: 50, failed: 0 } })).toEqual([]);
    expect(worstOf({ ...calm, gain, requests: { answered: 4, failed: 40 } })).toMatchObject([
      { level: "bad", title: "40 of the last 44 requests failed" },
      { level: "warn" },
    ]);
  });

  test("tell pairs without an answer even where none of them is known by name", () =>
    expect(worstOf({ ...calm, summary: { dead: 2, lossy: 0, lossiest: null } })).toMatchObject([
      { level: "bad", title: "2 pairs of nodes without an answer", to: { place: { page: "network" } } },
    ]));

  test("name a better plan with what it brings", () =>
    expect(worstOf({ ...calm, gain })).toMatchObject([
      {
        title: "The slowest chain of calls of cart takes 60 ms on the network; 20 ms would do",
        to: { place: { page: "workflows", workflow: { namespace: "shop", name: "cart" } } },
      },
    ]));

  test("say of a plan that shortens no chain what it shortens", () =>
    expect(worstOf({ ...calm, gain: { ...gain, bestMs: 60 } })).toMatchObject([
      { title: "All calls of a request of cart take 200 ms together; 70 ms would do" },
    ]));

  test("begin with nodes that are down, before what follows from it", () => {
    const down = ["b is not ready since 14:12:37; its pods started elsewhere"];
    const concerns = worstOf({
      ...calm,
      down,
      summary: { dead: 1, lossy: 0, lossiest: null },
      requests: { answered: 4, failed: 40 },
    });
    expect(concerns.map(({ title }) => title)).toEqual([
      down[0],
      "40 of the last 44 requests failed",
      "1 pair of nodes without an answer",
    ]);
    const many = worstOf({ ...calm, down: Array.from({ length: 9 }, (_, i) => `n${i} is not ready`) });
    expect(many).toMatchObject([{ title: "9 nodes are down: n0 is not ready" }]);
  });
});

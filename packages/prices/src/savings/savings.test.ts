// Hand-computed savings. A channel of GB carries a billion bytes per month; between AWS zones this costs 0.02
// USD. Endpoints have a capacity in requests per second.
import type { Channel, ClusterNode, SavingsLine, Workload } from "@isochrone/topology";
import { channel, node, workflowSnapshot, workload } from "@isochrone/topology/testing";
import { array, assert, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { billOf, MONTH_SECONDS } from "../bill.ts";
import { PriceTable } from "../table.ts";
import type { Judgement, ProposedMove, SavingsInput } from "./input.ts";
import { savingsInSteps } from "./savings.ts";

const GB = 1e9 / MONTH_SECONDS;
const PRICES = PriceTable.of(null);
const NODES: readonly ClusterNode[] = [
  ["a1", "a"],
  ["a2", "a"],
  ["b1", "b"],
  ["c1", "c"],
].map(([name, zone]) => node(name!, { provider: "aws", region: "us-east-1", zone: zone! }));
const NOWHERE = node("x1", { provider: "aws", region: null, zone: null });
const zoneOf = (name: string): string | null => NODES.find((each) => each.name === name)?.zone ?? null;

const graphsOf = (workloads: readonly Workload[], channels: readonly Channel[]) => ({
  version: 1,
  observedAt: "2026-01-01T00:00:00Z",
  windowSeconds: 30,
  nodes: [...NODES, NOWHERE],
  demand: { services: [] },
  workflows: [workflowSnapshot([...workloads], [...channels])],
});

interface Case {
  readonly workloads: readonly Workload[];
  readonly channels: readonly Channel[];
  readonly moves?: readonly ProposedMove[] | string;
  readonly carries?: number;
}

/** Requests stay in the caller's zone if it has endpoints, else all endpoints share them. */
function judgeOf({ workloads, carries = 1_000 }: Case): SavingsInput["judge"] {
  return ({ name }, asks, { moves }): Judgement => {
    const { pods } = workloads.find((each) => each.name === name)!;
    const zones = pods.map((pod) => zoneOf(moves.get(`shop/${pod.name}`) ?? pod.node!));
    const load = (zone: string | null): number => {
      const own = asks.filter((ask) => ask.zone === zone);
      const strays = asks.filter((ask) => !zones.includes(ask.zone));
      const sum = (list: typeof asks): number => list.reduce((all, ask) => all + ask.requestsPerSecond!, 0);
      return sum(own) / zones.filter((each) => each === zone).length + sum(strays) / zones.length;
    };
    const starving = [...new Set(zones)].filter((zone) => load(zone) > carries);
    const all = asks.reduce((sum, ask) => sum + ask.requestsPerSecond!, 0);
    return {
      verdict: starving.length > 0 ? "starves" : "safe",
      reasons: starving.map((zone) => `zone ${zone} would starve`),
      loadNow: all / zones.length / carries,
      loadThen: Math.max(...zones.map(load)) / carries,
    };
  };
}

const inputOf = (one: Case): SavingsInput => ({
  graphs: graphsOf(one.workloads, one.channels),
  table: PRICES,
  roundTripMs: (from, to) => (from === to ? 0 : zoneOf(from) === zoneOf(to) ? 1 : 5),
  movesOf: () => one.moves ?? [],
  judge: judgeOf(one),
  commands: (services, moves) => [
    ...services.map(({ name }) => `patch ${name}`),
    ...moves.map(({ name, to }) => `move ${name} ${to}`),
  ],
  maxServices: 10,
});

function savingsOf(one: Case): readonly SavingsLine[] {
  const steps = savingsInSteps(inputOf(one));
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value.lines;
  }
}

const lineOf = (one: Case, name: string): SavingsLine =>
  savingsOf(one).find(
    (line) => line.name === name && line.kind === (name === "flow" ? "workflow" : "service"),
  )!;
const move = (name: string, workloadName: string, from: string, to: string): ProposedMove => ({
  namespace: "shop",
  name,
  workload: workloadName,
  from,
  to,
});

const WEB = workload("web", { "w-1": "a1", "w-2": "a1", "w-3": "a2", "w-4": "b1" });
const API = workload("api", { "x-1": "a1", "x-2": "b1" });
const CALLS = channel("web", "api", 4 * GB, { requestsPerSecond: 40 });

describe("keeping traffic in its zone", () => {
  test("saves what crossed, with shorter round trips and the room that is left", () => {
    const { perMonth, roundTripMs, routing } = lineOf(
      { workloads: [WEB, API], channels: [CALLS], carries: 40 },
      "api",
    );
    expect(perMonth).toBeCloseTo(0.04, 12);
    // w-1, w-2: 0 or 5 ms, w-3: 1 or 5 ms, w-4: 0 or 5 ms.
    expect(roundTripMs).toBeCloseTo((2.5 + 2.5 + 3 + 2.5) / 4, 12);
    expect(routing).toMatchObject({
      isAdvised: true,
      reason: null,
      zones: 2,
      services: ["shop/api"],
      moves: [],
    });
    expect(routing.savedPerMonth).toBeCloseTo(0.04, 12);
    expect(routing.roundTripChangeMs).toBeCloseTo(0.25 - 2.625, 12);
    // Three callers in a send 30 to its one endpoint with capacity 40.
    expect(routing.headroomRatio).toBeCloseTo(0.25, 12);
    expect(routing.commands).toEqual(["patch api"]);
  });

  test("isn't advised where a zone would starve, which is named beside what it would save", () => {
    const { routing } = lineOf({ workloads: [WEB, API], channels: [CALLS], carries: 29 }, "api");
    expect(routing).toMatchObject({
      isAdvised: false,
      reason: "shop/api: zone a would starve",
      commands: [],
    });
    expect(routing.savedPerMonth).toBeCloseTo(0.04, 12);
    expect(routing.headroomRatio).toBeLessThan(0);
  });

  test("saves nothing where it is so already, nor where all is in one zone", () => {
    const near: Channel = { ...CALLS, routing: "nearest", routingScopes: ["zone"] };
    expect(lineOf({ workloads: [WEB, API], channels: [near] }, "api").routing).toMatchObject({
      savedPerMonth: 0,
      isAdvised: false,
      reason: "shop/api keeps traffic in its zone already",
    });
    const one = workload("web", { "w-1": "a1" });
    expect(
      lineOf({ workloads: [one, workload("api", { "x-1": "a2" })], channels: [CALLS] }, "api").routing,
    ).toMatchObject({
      savedPerMonth: 0,
      reason: "it would save nothing",
    });
  });

  test("isn't advised where what it shifts would starve a callee that keeps traffic in its zone", () => {
    const DB = workload("db", { "d-1": "a1", "d-2": "b1" });
    const down = channel("api", "db", 4 * GB, {
      requestsPerSecond: 40,
      routing: "nearest",
      routingScopes: ["zone"],
    });
    const all = { workloads: [WEB, API, DB], channels: [CALLS, down] };
    // api sends db 20 in each zone, then 30 in a.
    expect(lineOf({ ...all, carries: 30 }, "api").routing.isAdvised).toBe(true);
    expect(lineOf({ ...all, carries: 29 }, "api").routing.isAdvised).toBe(false);
    const apart = { ...all, channels: [{ ...CALLS, requestsPerSecond: 20 }, down], carries: 29 };
    expect(lineOf(apart, "api").routing.reason).toBe("shop/db: zone a would starve");
  });
});

describe("moving pods", () => {
  const P = workload("p", { "p-1": "a1" });
  const Q = workload("q", { "q-1": "b1" });
  const channels = [channel("p", "q", 5 * GB, { requestsPerSecond: 1 })];

  test("saves what it brings together", () => {
    const { moves } = lineOf({ workloads: [P, Q], channels, moves: [move("q-1", "q", "b1", "a2")] }, "flow");
    expect(moves).toMatchObject({ isAdvised: true, zones: 1, roundTripMs: 1, roundTripChangeMs: -4 });
    expect(moves.savedPerMonth).toBeCloseTo(0.1, 12);
    expect(moves.commands).toEqual(["move q-1 a2"]);
  });

  test("isn't advised where it costs more, and the amount is said", () => {
    const near = workload("q", { "q-1": "a2" });
    const { moves } = lineOf(
      { workloads: [P, near], channels, moves: [move("q-1", "q", "a2", "b1")] },
      "flow",
    );
    expect(moves).toMatchObject({ isAdvised: false, reason: "it would cost more", commands: [] });
    expect(moves.savedPerMonth).toBeCloseTo(-0.1, 12);
  });

  test("has no money where a price is unknown, and no moves of pods that have gone", () => {
    const toNowhere = lineOf(
      { workloads: [P, Q], channels, moves: [move("q-1", "q", "b1", "x1")] },
      "flow",
    ).moves;
    expect(toNowhere).toMatchObject({ savedPerMonth: null, isAdvised: false });
    expect(toNowhere.reason).toMatch(/some traffic has no price/);
    const gone = lineOf({ workloads: [P, Q], channels, moves: [move("q-1", "q", "c1", "a2")] }, "flow").moves;
    expect(gone).toMatchObject({
      savedPerMonth: 0,
      reason: "the planner proposes no move that could be made",
    });
    expect(lineOf({ workloads: [P, Q], channels, moves: "the planner is off" }, "flow").moves.reason).toBe(
      "the planner is off",
    );
  });
});

describe("both", () => {
  const DB = workload("db", { "d-1": "c1" });
  const down = channel("api", "db", 8 * GB, { requestsPerSecond: 40 });
  const all = { workloads: [WEB, API, DB], channels: [CALLS, down] };

  test("saves more than either, and takes only moves that still help", () => {
    const moves = [move("d-1", "db", "c1", "a2"), move("w-4", "web", "b1", "c1")];
    const { perMonth, routing, moves: moving, both } = lineOf({ ...all, moves }, "flow");
    expect(perMonth).toBeCloseTo(0.04 + 0.16, 12);
    expect(routing.savedPerMonth).toBeCloseTo(0.04, 12);
    // 2.5 of web's 4 GB would cross, and of api's 8 GB the half that x-2 sends.
    expect(moving.savedPerMonth).toBeCloseTo(0.2 - (0.05 + 0.08), 12);
    // x-2 gets a quarter and sends 2 of 8 GB across. With w-4 in c it sends 1, and 1 GB of web's crosses.
    expect(both).toMatchObject({ isAdvised: true, services: ["shop/api"], moves: [moves[0]] });
    expect(both.savedPerMonth).toBeCloseTo(0.2 - 0.04, 12);
    expect(both.commands).toEqual(["patch api", "move d-1 a2"]);
  });

  test("isn't advised where one alone saves as much", () => {
    const together = { workloads: [WEB, API], channels: [CALLS], moves: [move("w-3", "web", "a2", "a1")] };
    const { both } = lineOf(together, "flow");
    expect(both).toMatchObject({ isAdvised: false, reason: "one of both alone saves as much" });
    expect(lineOf({ ...together, moves: [] }, "flow").both.reason).toBe("there is nothing to combine");
  });
});

test("promises are the bill's own difference; both promise more than either or say why; nothing advised costs", () => {
  const nodes = constantFrom("a1", "a2", "b1", "c1");
  const cases = record({
    web: array(nodes, { minLength: 1, maxLength: 4 }),
    api: array(nodes, { minLength: 1, maxLength: 3 }),
    db: array(nodes, { minLength: 1, maxLength: 2 }),
    near: constantFrom("spread" as const, "nearest" as const),
    moved: array(record({ of: integer({ min: 0, max: 8 }), to: nodes }), { maxLength: 4 }),
    carries: integer({ min: 5, max: 60 }),
  });
  let advised = 0;
  assert(
    property(cases, ({ near, moved, carries, ...placed }) => {
      const workloads = Object.entries(placed).map(([name, on]) =>
        workload(name, Object.fromEntries(on.map((each, index) => [`${name}-${index}`, each]))),
      );
      const channels = [
        channel("web", "api", 4 * GB, { requestsPerSecond: 40 }),
        channel("api", "db", 8 * GB, { requestsPerSecond: 40, routing: near }),
      ];
      const pods = workloads.flatMap((of) => of.pods.map((pod) => ({ of, pod })));
      const moves = [...new Map(moved.map(({ of, to }) => [of % pods.length, to]))].map(([index, to]) => {
        const { of, pod } = pods[index]!;
        return move(pod.name, of.name, pod.node!, to);
      });
      const graphs = graphsOf(workloads, channels);
      const money = (change?: Parameters<typeof billOf>[2]): number =>
        billOf(graphs, PRICES, change).total.perMonth!;
      for (const { routing, moves: moving, both } of savingsOf({ workloads, channels, moves, carries })) {
        const single = Math.max(...[routing, moving].map((one) => (one.isAdvised ? one.savedPerMonth! : 0)));
        expect(both.isAdvised ? both.savedPerMonth! : Infinity).toBeGreaterThan(single);
        for (const option of [routing, moving, both]) {
          expect(option.isAdvised).toBe(option.reason === null);
          expect(option.commands.length > 0).toBe(option.isAdvised);
          expect(option.isAdvised ? option.savedPerMonth! : 1).toBeGreaterThan(0);
          const change = {
            moves: new Map(option.moves.map(({ name, to }) => [`shop/${name}`, to])),
            routing: new Map(option.services.map((name) => [name, ["zone"] as const])),
          };
          expect(option.savedPerMonth!).toBeCloseTo(money() - money(change), 10);
          advised += Number(option.isAdvised);
        }
      }
    }),
    { seed: 1 },
  );
  expect(advised).toBeGreaterThan(20);
});

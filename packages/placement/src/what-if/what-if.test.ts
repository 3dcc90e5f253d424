import { PriceTable, readPrices } from "@isochrone/prices";
import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { array, assert, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import type { ApiObject } from "../feasibility/objects/json.ts";
import { SchedulingModel } from "../feasibility/scheduling-model.ts";
import { aNode, aPod } from "../feasibility/testing/objects.ts";
import { workflowPlan } from "../feasibility/planning/workflow-plan.ts";
import { channel, link, node, workload } from "../testing/problems.ts";
import type { Change, World } from "./change.ts";
import { whatIf, type WhatIf, type WhatIfInput } from "./what-if.ts";

const AT = "2026-01-01T00:00:00.000Z";
const ZONES = { e1: "east", e2: "east", w1: "west", w2: "west" } as const;
const NODES = Object.keys(ZONES) as (keyof typeof ZONES)[];
type Placed = Readonly<Record<string, Readonly<Record<string, string>>>>;
const SHOP: Placed = { web: { "web-1": "e1", "web-2": "w1" }, db: { "db-1": "e2" } };

const row = (from: string, perGB: number): object => ({
  provider: "own",
  scope: "zone-to-zone",
  from,
  out: perGB,
  in: 0,
  per: "GB",
  currency: "EUR",
  source: "a test",
  date: "2026-01-01",
});
const table = (perGB: number): PriceTable =>
  PriceTable.of(
    readPrices({ replace: true, prices: [row("r", perGB), { ...row("r", 0), scope: "same-zone" }] }),
  );

function worldOf(placed: Placed, pods: readonly ApiObject[] = [], cpu = "500m"): World {
  const nodes = NODES.map((name) => node(name, null, null, { zone: ZONES[name], region: "r" }));
  const links = NODES.flatMap((a) =>
    NODES.filter((b) => b !== a).map((b) => link(a, b, ZONES[a] === ZONES[b] ? 1 : 20)),
  );
  const own = Object.entries(placed).flatMap(([owner, on]) =>
    Object.entries(on).map(([name, where]) =>
      aPod(name, { namespace: "shop", node: where, owner, labels: { app: owner }, requests: { cpu } }),
    ),
  );
  const workflow: WorkflowGraphSnapshot = {
    version: 1,
    observedAt: AT,
    namespace: "shop",
    name: "flow",
    workloads: Object.entries(placed).map(([name, on]) => workload(name, { cpu: null, memory: null }, on)),
    channels: [channel("web", "db", 100_000)],
  };
  return {
    objects: { nodes: NODES.map((name) => aNode(name, ZONES[name])), pods: [...own, ...pods], services: [] },
    cluster: { version: 1, observedAt: AT, windowSeconds: 30, nodes, links },
    workflows: [workflow],
    demand: { services: [] },
  };
}

const asked = (world: World, change: Change, more: Partial<WhatIfInput> = {}): WhatIf =>
  whatIf({ world, change, prices: table(1), seed: 1, budgetMs: 100, now: () => performance.now(), ...more });

const nodesAfter = ({ moves }: WhatIf): Record<string, readonly (string | null)[]> =>
  Object.fromEntries(moves.map(({ pod, from, unplanned, planned }) => [pod, [from, unplanned, planned]]));

describe("what if", () => {
  test("today is worked out by hand: half of the traffic crosses zones", () => {
    const { today } = asked(worldOf(SHOP), {});
    expect(today).toMatchObject({ network: 50_000 * 1 + 50_000 * 20, meanRttMs: 10.5, podsWithoutNode: 0 });
    // 50,000 bytes/s over 730 hours, 1 EUR/GB.
    expect(today.perMonth).toBeCloseTo((50_000 * 730 * 3600) / 1e9);
    expect(today.currency).toBe("EUR");
  });

  test("a drained node holds no pod, and its DaemonSets' pods end", () => {
    const daemon = aPod("agent-1", { namespace: "shop", node: "e2" });
    const metadata = { ...daemon.metadata, ownerReferences: [{ kind: "DaemonSet", controller: true }] };
    const found = asked(worldOf(SHOP, [{ ...daemon, metadata }]), { drain: ["e2"] });
    expect(found.moves.map(({ pod, from, must }) => [pod, from, must])).toContainEqual([
      "shop/db-1",
      "e2",
      true,
    ]);
    expect(Object.values(nodesAfter(found)).flatMap((each) => each.slice(1))).not.toContain("e2");
    expect(Object.keys(nodesAfter(found))).not.toContain("shop/agent-1");
    expect(found.unplanned.podsWithoutNode).toBe(0);
    expect(found.planned.network).toBeLessThanOrEqual(found.unplanned.network);
  });

  test("a lost zone moves all into the other one, as far as there is room; the rest is named with a reason", () => {
    const full = asked(worldOf(SHOP, [], "3"), { loseZones: ["east"] });
    expect(full.unplanned.podsWithoutNode).toBe(1);
    expect(full.withoutNode).toEqual([
      { pod: "shop/web-1", reason: "0/2 nodes are available: 2 Insufficient cpu." },
    ]);
    const roomy = asked(worldOf(SHOP), { loseZones: ["east"] });
    expect(roomy.withoutNode).toEqual([]);
    expect(roomy.planned).toMatchObject({ podsWithoutNode: 0, perMonth: 0 });
  });

  test("a workload grows by pods like its own and shrinks where most of them are", () => {
    const grown = asked(worldOf(SHOP), { scale: [{ workload: "shop/web", replicas: 4 }] });
    expect(grown.moves.filter(({ from }) => from === null)).toHaveLength(2);
    expect(grown.unplanned.podsWithoutNode).toBe(0);
    const shrunk = asked(worldOf({ ...SHOP, web: { a: "e1", b: "w1", c: "w1" } }), {
      scale: [{ workload: "shop/web", replicas: 2 }],
    });
    expect(shrunk.unplanned.meanRttMs).toBe(10.5);
    const none = asked(worldOf(SHOP), { scale: [{ workload: "shop/db", replicas: 0 }] });
    expect(none.unplanned).toMatchObject({ meanRttMs: null, unknownBytesPerSecond: 100_000 });
  });

  test("links between nodes or zones take longer, measured or not", () => {
    const slow = (a: string, b: string, addMs: number, factor: number): WhatIf =>
      asked(worldOf(SHOP), { slow: [{ a, b, addMs, factor }] });
    expect(slow("west", "east", 10, 1).unplanned.meanRttMs).toBe(15.5);
    expect(slow("e2", "w1", 0, 2).unplanned.meanRttMs).toBe(20.5);
    expect(slow("w2", "e1", 0, 2).unplanned.meanRttMs).toBe(10.5);
    const world = worldOf(SHOP);
    const pair = (from: string, to: string) => ({ from, to, cost: 10 });
    const zones = [pair("east", "west"), pair("west", "east")];
    const declared = { source: "a test", unitMs: 1, zones, regions: [] };
    const bare = { ...world, cluster: { ...world.cluster, links: [], declaredCosts: declared } };
    const { today, unplanned } = asked(bare, { slow: [{ a: "e2", b: "w1", addMs: 1, factor: 2 }] });
    expect([today.meanRttMs, unplanned.meanRttMs]).toEqual([10, 21]);
  });

  test("other prices and money as the objective", () => {
    const world = worldOf(SHOP);
    const { today, unplanned } = asked(world, {}, { newPrices: table(3) });
    expect(unplanned.perMonth).toBeCloseTo(3 * today.perMonth!);
    const money = asked(world, {}, { cost: { moneyShare: 0.9 } });
    expect(money.planned.perMonth).toBeLessThanOrEqual(money.today.perMonth!);
  });

  test.each<[Change, RegExp]>([
    [{ drain: ["e9"] }, /drained node must be one of the cluster's, got e9/],
    [{ loseZones: ["north"] }, /lost zone must have a node, got north/],
    [
      { scale: [{ workload: "shop/no", replicas: 1 }] },
      /must be in a workflow, as namespace\/name, got shop\/no/,
    ],
    [{ scale: [{ workload: "shop/web", replicas: -1 }] }, /replicas of shop\/web must be a whole .*, got -1/],
    [{ scale: [{ workload: "shop/web", replicas: 1.5 }] }, /got 1.5/],
    [{ scale: [{ workload: "shop/web", replicas: NaN }] }, /got NaN/],
    [
      { slow: [{ a: "e1", b: "w9", addMs: 1, factor: 1 }] },
      /must be a node or a zone of the cluster, got w9/,
    ],
    [{ slow: [{ a: "e1", b: "w1", addMs: 0, factor: 0 }] }, /e1:w1 must have a factor above 0, got 0/],
    [{ slow: [{ a: "e1", b: "w1", addMs: -1, factor: 1 }] }, /0 or more milliseconds to add, got -1/],
    [{ slow: [{ a: "e1", b: "w1", addMs: 1, factor: Infinity }] }, /factor above 0, got Infinity/],
  ])("refuses %j", (change, said) => {
    expect(() => asked(worldOf(SHOP), change)).toThrow(said);
  });
});

const changes = record({
  drain: array(constantFrom(...NODES), { maxLength: 2 }),
  loseZones: array(constantFrom("east", "west"), { maxLength: 1 }),
  scale: array(
    record({ workload: constantFrom("shop/web", "shop/db"), replicas: integer({ min: 0, max: 6 }) }),
    {
      maxLength: 1,
    },
  ),
  slow: array(
    record({
      a: constantFrom("east", "e1"),
      b: constantFrom("west", "w2"),
      addMs: integer({ min: 0, max: 50 }),
      factor: integer({ min: 1, max: 3 }),
    }),
    { maxLength: 2 },
  ),
});
const placements = record({
  web: array(constantFrom(...NODES), { minLength: 1, maxLength: 4 }),
  db: array(constantFrom(...NODES), { minLength: 1, maxLength: 3 }),
});

const named = (name: string, nodes: readonly string[]): Record<string, string> =>
  Object.fromEntries(nodes.map((each, index) => [`${name}-${index}`, each]));
/** A frozen clock: the number of steps ends the search, so results repeat. */
const TIMELESS = { now: () => 0 };

describe("generated clusters", () => {
  test("keep what they were, hold no pod on nodes that are gone, and name each that has no node", () => {
    assert(
      property(placements, changes, constantFrom("200m", "1500m"), ({ web, db }, change, cpu) => {
        const world = worldOf({ web: named("web", web), db: named("db", db) }, [], cpu);
        const before = structuredClone(world);
        const found = asked(world, change, { budgetMs: 20 });
        expect(world).toEqual(before);
        const gone = new Set<string | null>([
          ...change.drain,
          ...NODES.filter((name) => change.loseZones.includes(ZONES[name])),
        ]);
        for (const { unplanned, planned } of found.moves)
          expect([unplanned, planned].some((on) => gone.has(on))).toBe(false);
        expect(found.planned.podsWithoutNode).toBeLessThanOrEqual(found.unplanned.podsWithoutNode);
        expect(found.withoutNode).toHaveLength(found.planned.podsWithoutNode);
      }),
      { numRuns: 60 },
    );
  });

  test("an empty change is today's plan", () => {
    assert(
      property(placements, ({ web, db }) => {
        const world = worldOf({ web: named("web", web), db: named("db", db) });
        const { today, unplanned, moves } = asked(world, {}, TIMELESS);
        expect(unplanned).toEqual(today);
        const report = workflowPlan({
          model: SchedulingModel.of(world.objects),
          pods: world.objects.pods,
          cluster: new ClusterGraph(world.cluster),
          workflow: new WorkflowGraph(world.workflows[0]!),
          seed: 1,
          budgetMs: 100,
          ...TIMELESS,
        });
        const plannedMoves = report!.moves.filter(({ obstacle }) => obstacle === null);
        expect(new Set(moves.map(({ pod, from, planned }) => `${pod} ${from} ${planned}`))).toEqual(
          new Set(plannedMoves.map(({ pod, from, to }) => `shop/${pod} ${from} ${to}`)),
        );
      }),
      { numRuns: 40 },
    );
  });
});

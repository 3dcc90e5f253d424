import type { Channel, Link } from "@isochrone/topology";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { nodesBeyondLimits, rejectedNodes } from "./scoring/limits.ts";
import type { PlacementProblem } from "./scoring/problem.ts";
import { createStrategy } from "./profile.ts";
import { allCandidates } from "./scoring/score-table.ts";
import type { Strategy } from "./scoring/strategy.ts";
import { channel, link, node, problem, workload } from "./testing/problems.ts";

const PROFILES = [
  "resource-network/raw",
  "resource-network/normalized",
  "communication-affinity/raw",
  "communication-affinity/normalized",
  "network-overhead/strict",
  "network-overhead/upstream",
  "resource-network=2,communication-affinity=1,network-overhead=0.5",
];
/** Excludes upstream, which compares areas and ignores traffic. */
const NODEWISE = PROFILES.filter((profile) => !profile.endsWith("upstream"));
const MODELS: readonly Partial<Channel>[] = [
  {},
  { routing: "nearest" },
  { routing: "nearest", routingScopes: ["zone"] },
  { routing: "nearest", routingScopes: [] },
];
const NAMES = ["a", "b", "c", "d"] as const;

const name = fc.constantFrom(...NAMES);
const maybe = (most: number): fc.Arbitrary<number | null> =>
  fc.option(fc.double({ min: 0, max: most, noNaN: true }));
const area = fc.constantFrom("x", "y", null);

const scenario = fc.record({
  profile: fc.constantFrom(...PROFILES),
  nodes: fc.tuple(
    ...NAMES.map(() => fc.record({ cpu: maybe(1e5), memory: maybe(1e12), zone: area, region: area })),
  ),
  links: fc.array(
    fc.record({
      source: name,
      target: name,
      costMs: maybe(1e5),
      lossRatio: fc.constantFrom(0, 1, null),
      available: maybe(1e10),
    }),
    { maxLength: 16 },
  ),
  use: fc.record({ cpu: maybe(1e4), memory: maybe(1e10) }),
  siblings: fc.array(fc.option(name), { maxLength: 2 }),
  peers: fc.array(
    fc.record({
      nodes: fc.array(fc.option(fc.constantFrom(...NAMES, "stranger")), { minLength: 1, maxLength: 3 }),
      outgoing: fc.boolean(),
      bytesPerSecond: maybe(1e12),
      requestsPerSecond: maybe(1e9),
      priority: maybe(1e6),
      relationshipType: fc.constantFrom("HTTPRoute", "AMQPRoute", "Unheard", null),
      maxNetworkCost: maybe(1e5),
      minBandwidthBitsPerSecond: maybe(1e10),
      model: fc.constantFrom(...MODELS),
    }),
    { maxLength: 4 },
  ),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

function build(drawn: Scenario, order: readonly string[] = NAMES): PlacementProblem {
  const bandwidth = (available: number | null): Link["bandwidthBitsPerSecond"] => ({
    capacity: null,
    achieved: null,
    available,
  });
  return problem(
    NAMES.map((each, index) => {
      const { cpu, memory, zone, region } = drawn.nodes[index]!;
      return node(each, cpu, memory, { zone, region });
    }),
    drawn.links.map(({ source, target, costMs, lossRatio, available }) =>
      link(source, target, costMs, { lossRatio, bandwidthBitsPerSecond: bandwidth(available) }),
    ),
    [
      workload("p", drawn.use, Object.fromEntries(drawn.siblings.map((on, index) => [`p-${index + 2}`, on]))),
      ...drawn.peers.map(({ nodes }, index) =>
        workload(
          `q${index}`,
          drawn.use,
          Object.fromEntries(nodes.map((on, pod) => [`q${index}-${pod}`, on])),
        ),
      ),
    ],
    drawn.peers.map((peer, index) => {
      const { requestsPerSecond, priority, relationshipType, maxNetworkCost, minBandwidthBitsPerSecond } =
        peer;
      const needs = { priority, relationshipType, maxNetworkCost, minBandwidthBitsPerSecond };
      const [source, target] = peer.outgoing ? ["p", `q${index}`] : [`q${index}`, "p"];
      return channel(source, target, peer.bytesPerSecond, { requestsPerSecond, ...needs, ...peer.model });
    }),
    { candidates: order },
  );
}

const strategyOf = (profile: string): Strategy => createStrategy({ strategy: profile });

test("no input gives a NaN, an infinite number, or a score outside 0 to 100", () => {
  fc.assert(
    fc.property(scenario, (drawn) => {
      for (const candidate of allCandidates(strategyOf(drawn.profile).score(build(drawn)))) {
        expect(candidate.score).toBeGreaterThanOrEqual(0);
        expect(candidate.score).toBeLessThanOrEqual(100);
        for (const value of [candidate.raw, ...Object.values(candidate.parts)])
          expect(value === null || Number.isFinite(value)).toBe(true);
      }
    }),
    { numRuns: 300 },
  );
});

test("the order of the candidates changes neither scores, nor rejections, nor the best node", () => {
  fc.assert(
    fc.property(scenario, fc.shuffledSubarray([...NAMES], { minLength: NAMES.length }), (drawn, order) => {
      const strategy = strategyOf(drawn.profile);
      const [one, other] = [build(drawn), build(drawn, order)];
      const [table, shuffled] = [strategy.score(one), strategy.score(other)];
      const sorted = allCandidates(shuffled).sort((x, y) => (x.name < y.name ? -1 : 1));
      expect(sorted).toEqual(allCandidates(table));
      expect(shuffled.explanation.best).toBe(table.explanation.best);
      const [rejected, again] = [rejectedNodes(strategy, one), rejectedNodes(strategy, other)];
      for (const each of NAMES) expect(again.get(each)).toBe(rejected.get(each));
    }),
    { numRuns: 200 },
  );
});

const cost = fc.double({ min: 0.01, max: 1_000, noNaN: true });
const rate = fc.double({ min: 1, max: 1e9, noNaN: true });
const ROUNDING = 1e-9;

function pair(
  toA: number,
  toB: number,
  bytesPerSecond: number,
  model: Partial<Channel> = {},
): PlacementProblem {
  return problem(
    ["a", "b", "c"].map((each) => node(each, 1_000, 1e9)),
    [link("a", "c", toA), link("b", "c", toB)],
    [workload("p", { cpu: 100, memory: 1e8 }, {}), workload("q", { cpu: 1, memory: 1 }, { "q-1": "c" })],
    [channel("p", "q", bytesPerSecond, { priority: 1, ...model })],
    { candidates: ["a", "b"] },
  );
}

test("a higher cost never raises a node's score", () => {
  fc.assert(
    fc.property(
      cost,
      cost,
      fc.double({ min: 0, max: 1_000, noNaN: true }),
      rate,
      fc.constantFrom(...NODEWISE),
      fc.constantFrom(...MODELS),
      (toA, toB, more, bytes, profile, model) => {
        const strategy = strategyOf(profile);
        const before = strategy.score(pair(toA, toB, bytes, model)).score[0]!;
        const after = strategy.score(pair(toA + more, toB, bytes, model)).score[0]!;
        expect(after).toBeLessThanOrEqual(before + ROUNDING);
      },
    ),
    { numRuns: 300 },
  );
});

test("the nearer of two nodes never has the lower score, and more traffic doesn't change that", () => {
  fc.assert(
    fc.property(cost, cost, rate, rate, fc.constantFrom(...NODEWISE), (one, other, bytes, more, profile) => {
      const strategy = strategyOf(profile);
      for (const bytesPerSecond of [bytes, bytes + more]) {
        const [near, far] = strategy.score(
          pair(Math.min(one, other), Math.max(one, other), bytesPerSecond),
        ).score;
        expect(near!).toBeGreaterThanOrEqual(far! - ROUNDING);
      }
    }),
    { numRuns: 300 },
  );
});

test("with more traffic to one of two peers its nearer node never loses", () => {
  fc.assert(
    fc.property(
      cost,
      cost,
      rate,
      rate,
      rate,
      fc.constantFrom(...NODEWISE),
      (toC, toD, c, d, more, profile) => {
        // a is nearer to c by `near`; b is nearer to d by the same amount.
        const near = 1 + Math.min(toC, toD);
        const scores = (toCBytes: number): Float64Array =>
          strategyOf(profile).score(
            problem(
              ["a", "b", "c", "d"].map((each) => node(each, 1_000, 1e9)),
              [
                link("a", "c", toC),
                link("b", "c", toC + near),
                link("a", "d", toD + near),
                link("b", "d", toD),
              ],
              [
                workload("p", { cpu: 100, memory: 1e8 }, {}),
                workload("q", { cpu: 1, memory: 1 }, { "q-1": "c" }),
                workload("r", { cpu: 1, memory: 1 }, { "r-1": "d" }),
              ],
              [channel("p", "q", toCBytes), channel("p", "r", d)],
              { candidates: ["a", "b"] },
            ),
          ).score;
        const [before, after] = [scores(c), scores(c + more)];
        expect(after[0]! - after[1]!).toBeGreaterThanOrEqual(before[0]! - before[1]! - 1e-6);
      },
    ),
    { numRuns: 300 },
  );
});

test("equal nodes get equal scores", () => {
  fc.assert(
    fc.property(
      cost,
      rate,
      fc.constantFrom(...PROFILES),
      fc.constantFrom(...MODELS),
      (ms, bytes, profile, model) => {
        const [a, b] = strategyOf(profile).score(pair(ms, ms, bytes, model)).score;
        expect(a).toBe(b);
      },
    ),
  );
});

test("a looser limit never rejects more", () => {
  fc.assert(
    fc.property(scenario, fc.double({ min: 1, max: 100, noNaN: true }), (drawn, factor) => {
      const looser = drawn.peers.map((peer) => ({
        ...peer,
        maxNetworkCost: peer.maxNetworkCost === null ? null : peer.maxNetworkCost * factor,
        minBandwidthBitsPerSecond:
          peer.minBandwidthBitsPerSecond === null ? null : peer.minBandwidthBitsPerSecond / factor,
      }));
      const strict = nodesBeyondLimits(build(drawn));
      for (const each of nodesBeyondLimits(build({ ...drawn, peers: looser })).keys())
        expect(strict.has(each)).toBe(true);
    }),
    { numRuns: 200 },
  );
});

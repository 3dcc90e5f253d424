import type { Candidate } from "@isochrone/topology";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { PlacementProblem } from "../scoring/problem.ts";
import { ResourceNetwork } from "./resource-network.ts";
import { allCandidates } from "../scoring/score-table.ts";
import { channel, link, node, problem, workload } from "../testing/problems.ts";

const NAMES = ["a", "b", "c", "d"] as const;
const MODES = ["raw", "normalized"] as const;
const name = fc.constantFrom(...NAMES);
const maybe = (most: number): fc.Arbitrary<number | null> =>
  fc.option(fc.double({ min: 0, max: most, noNaN: true }));

const scenario = fc.record({
  nodes: fc.tuple(
    ...NAMES.map(() =>
      fc.record({ cpu: maybe(1e5), memory: maybe(1e12), ageSeconds: fc.constantFrom(0, 200, null) }),
    ),
  ),
  links: fc.array(
    fc.record({ source: name, target: name, costMs: maybe(1e5), lossRatio: fc.constantFrom(0, 1, null) }),
    { maxLength: 16 },
  ),
  use: fc.record({ cpu: maybe(1e4), memory: maybe(1e10) }),
  peers: fc.array(
    fc.record({
      node: fc.option(name),
      bytesPerSecond: maybe(1e12),
      requestsPerSecond: maybe(1e9),
      outgoing: fc.boolean(),
    }),
    { maxLength: 5 },
  ),
  mode: fc.constantFrom(...MODES),
  gamma: fc.double({ min: 0, max: 1, noNaN: true }),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

function build(drawn: Scenario, order: readonly string[] = NAMES): PlacementProblem {
  return problem(
    NAMES.map((each, index) => {
      const { cpu, memory, ageSeconds } = drawn.nodes[index]!;
      return node(each, cpu, memory, { usageAgeSeconds: ageSeconds });
    }),
    drawn.links.map(({ source, target, costMs, lossRatio }) => link(source, target, costMs, { lossRatio })),
    [
      workload("p", drawn.use, {}),
      ...drawn.peers.map((peer, index) => workload(`q${index}`, drawn.use, { [`q${index}-1`]: peer.node })),
    ],
    drawn.peers.map(({ outgoing, bytesPerSecond, requestsPerSecond }, index) => {
      const [source, target] = outgoing ? ["p", `q${index}`] : [`q${index}`, "p"];
      return channel(source, target, bytesPerSecond, { requestsPerSecond });
    }),
    { candidates: order },
  );
}

const strategyOf = ({ mode, gamma }: Scenario): ResourceNetwork =>
  new ResourceNetwork(mode, { alpha: 0.5, beta: 0.5, gamma, delta: 1 - gamma });

test("no input gives a NaN, an infinite number, or a score outside 0 to 100", () => {
  fc.assert(
    fc.property(scenario, (drawn) => {
      for (const candidate of allCandidates(strategyOf(drawn).score(build(drawn)))) {
        expect(candidate.score).toBeGreaterThanOrEqual(0);
        expect(candidate.score).toBeLessThanOrEqual(100);
        for (const value of [candidate.raw, ...Object.values(candidate.parts)])
          expect(value === null || Number.isFinite(value)).toBe(true);
      }
    }),
  );
});

test("the order of the candidates changes neither scores nor the best node", () => {
  fc.assert(
    fc.property(scenario, fc.shuffledSubarray([...NAMES], { minLength: NAMES.length }), (drawn, order) => {
      const strategy = strategyOf(drawn);
      const [table, shuffled] = [strategy.score(build(drawn)), strategy.score(build(drawn, order))];
      const sorted = allCandidates(shuffled).sort((x, y) => (x.name < y.name ? -1 : 1));
      expect(sorted).toEqual(allCandidates(table));
      expect(shuffled.explanation.best).toBe(table.explanation.best);
    }),
  );
});

const cost = fc.double({ min: 0.01, max: 1_000, noNaN: true });
const rate = fc.double({ min: 1, max: 1e9, noNaN: true });

function pair(toA: number, toB: number, bytesPerSecond: number): PlacementProblem {
  return problem(
    ["a", "b", "c"].map((each) => node(each, 1_000, 1e9)),
    [link("a", "c", toA), link("b", "c", toB)],
    [workload("p", { cpu: 100, memory: 1e8 }, {}), workload("q", { cpu: 1, memory: 1 }, { "q-1": "c" })],
    [channel("p", "q", bytesPerSecond)],
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
      fc.constantFrom(...MODES),
      (toA, toB, more, bytes, mode) => {
        const strategy = new ResourceNetwork(mode);
        const before = strategy.score(pair(toA, toB, bytes));
        const after = strategy.score(pair(toA + more, toB, bytes));
        expect(after.score[0]!).toBeLessThanOrEqual(before.score[0]!);
        expect(after.raw[0]!).toBeLessThanOrEqual(before.raw[0]!);
      },
    ),
  );
});

test("more traffic never favours the farther node", () => {
  fc.assert(
    fc.property(cost, cost, rate, fc.double({ min: 1, max: 100, noNaN: true }), (toA, toB, bytes, factor) => {
      const raw = new ResourceNetwork("raw");
      const scores = (bytesPerSecond: number): Float64Array =>
        raw.score(pair(Math.max(toA, toB), Math.min(toA, toB), bytesPerSecond)).raw;
      const [lessA, lessB] = scores(bytes);
      const [moreA, moreB] = scores(bytes * factor);
      // The difference of large scores can be rounding error.
      const rounding = 1e-12 * Math.max(1, ...[lessA, lessB, moreA, moreB].map((score) => Math.abs(score!)));
      expect(moreA! - moreB!).toBeLessThanOrEqual(lessA! - lessB! + rounding);
    }),
  );
});

test("equal nodes get equal scores", () => {
  fc.assert(
    fc.property(cost, rate, fc.constantFrom(...MODES), (ms, bytes, mode) => {
      const [a, b] = new ResourceNetwork(mode).score(pair(ms, ms, bytes)).score;
      expect(a).toBe(b);
    }),
  );
});

const rowsOf = (drawn: Scenario, bytesPerRequest: number): Candidate[] => {
  const { mode, weights } = strategyOf(drawn);
  return allCandidates(new ResourceNetwork(mode, weights, bytesPerRequest).score(build(drawn)));
};
const bytesPerRequest = fc.integer({ min: 1, max: 1e6 });

test("a request valued at b bytes is worth b measured bytes", () => {
  fc.assert(
    fc.property(scenario, bytesPerRequest, (drawn, each) => {
      const measured = drawn.peers.map((peer) => ({
        ...peer,
        bytesPerSecond:
          peer.bytesPerSecond ?? (peer.requestsPerSecond === null ? null : peer.requestsPerSecond * each),
      }));
      const inNormalized = { ...drawn, mode: "normalized" as const };
      expect(rowsOf(inNormalized, each)).toEqual(rowsOf({ ...inNormalized, peers: measured }, each));
    }),
  );
});

/** Large enough that products keep their digits. */
const ordinary = (value: number | null): number | null => (value === null ? null : Math.max(value, 1e-6));

test("where no bytes are measured the network part grows with bytesPerRequest, and the scores don't depend on it", () => {
  fc.assert(
    fc.property(scenario, bytesPerRequest, fc.integer({ min: 1, max: 20 }), (drawn, bytes, doublings) => {
      const peers = drawn.peers.map((peer) => ({
        ...peer,
        bytesPerSecond: null,
        requestsPerSecond: ordinary(peer.requestsPerSecond),
      }));
      const between = drawn.links.map((each) => ({ ...each, costMs: ordinary(each.costMs) }));
      const requestsOnly = { ...drawn, mode: "normalized" as const, peers, links: between };
      const factor = 2 ** doublings;
      const before = rowsOf(requestsOnly, bytes);
      const after = rowsOf(requestsOnly, bytes * factor);
      // Scaling by powers of two is exact.
      const network = (rows: Candidate[], times: number): (number | null)[] =>
        rows.map(({ parts }) => (typeof parts["network"] === "number" ? parts["network"] * times : null));
      expect(network(after, 1)).toEqual(network(before, factor));
      expect(after.map(({ score }) => score)).toEqual(before.map(({ score }) => score));
    }),
  );
});

test("raw is blind to requests", () => {
  fc.assert(
    fc.property(scenario, bytesPerRequest, (drawn, each) => {
      const peers = drawn.peers.map((peer) => ({ ...peer, requestsPerSecond: null }));
      const inRaw = { ...drawn, mode: "raw" as const };
      expect(rowsOf(inRaw, each)).toEqual(rowsOf({ ...inRaw, peers }, each));
    }),
  );
});

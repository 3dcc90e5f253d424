import { ClusterGraph } from "@isochrone/topology";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { channel, node, problem, workload } from "../testing/problems.ts";
import { UpstreamNetworkOverhead } from "./network-overhead.ts";

const USE = { cpu: null, memory: null };
/** Few names, so zones and regions often share one. */
const AREAS = ["", "x", "y", "z"];
const MAX_COST = 100;

type Costs = Readonly<Record<string, Readonly<Record<string, number>>>>;

interface Labelled {
  readonly name: string;
  readonly region: string;
  readonly zone: string;
}

interface Placed {
  readonly selector: string;
  readonly host: string;
}

interface Dependency {
  readonly selector: string;
  readonly maxNetworkCost: number;
}

function asWritten(
  candidate: Labelled,
  nodes: readonly Labelled[],
  placed: readonly Placed[],
  dependencies: readonly Dependency[],
  { regions, zones }: { readonly regions: Costs; readonly zones: Costs },
): { cost: number; satisfied: number; violated: number } {
  const costMap = new Map<string, number>();
  const add = (origin: string, row: Readonly<Record<string, number>> | undefined): void => {
    for (const [destination, cost] of Object.entries(row ?? {}))
      costMap.set(`${origin}>${destination}`, cost);
  };
  if (candidate.region !== "") add(candidate.region, regions[candidate.region]);
  if (candidate.zone !== "") add(candidate.zone, zones[candidate.zone]);
  const sums = { cost: 0, satisfied: 0, violated: 0 };
  for (const pod of placed) {
    for (const dependency of dependencies) {
      if (pod.selector !== dependency.selector) continue;
      if (pod.host === candidate.name) {
        sums.satisfied++;
        continue;
      }
      const host = nodes.find(({ name }) => name === pod.host)!;
      let found: number | undefined;
      if (host.region === "" && host.zone === "") {
        sums.violated++;
        sums.cost += MAX_COST;
        continue;
      } else if (candidate.region === host.region) {
        if (candidate.zone === host.zone) {
          sums.satisfied++;
          sums.cost += 1;
          continue;
        }
        found = costMap.get(`${candidate.zone}>${host.zone}`);
      } else found = costMap.get(`${candidate.region}>${host.region}`);
      sums.cost += found ?? MAX_COST;
      if (found === undefined) continue;
      if (found <= dependency.maxNetworkCost) sums.satisfied++;
      else sums.violated++;
    }
  }
  return sums;
}

const area = fc.constantFrom(...AREAS);
const named = AREAS.filter((name) => name !== "");
const costs: fc.Arbitrary<Costs> = fc.dictionary(
  fc.constantFrom(...named),
  fc.dictionary(fc.constantFrom(...named), fc.integer({ min: 0, max: 120 })),
);

const clusters = fc.record({
  labels: fc.array(fc.tuple(area, area), { minLength: 1, maxLength: 12 }),
  hosts: fc.array(fc.tuple(fc.nat(3), fc.nat(11)), { maxLength: 12 }),
  limits: fc.array(fc.integer({ min: 0, max: 120 }), { minLength: 1, maxLength: 4 }),
  regions: costs,
  zones: costs,
});

test("votes, costs and scores are those of the plugin's loops", () => {
  const strategy = new UpstreamNetworkOverhead();
  const rows = (of: Costs): Map<string, Map<string, number>> =>
    new Map(Object.entries(of).map(([origin, to]) => [origin, new Map(Object.entries(to))]));
  fc.assert(
    fc.property(clusters, ({ labels, hosts, limits, regions, zones }) => {
      const nodes = labels.map(([region, zone], index): Labelled => ({ name: `n${index}`, region, zone }));
      const placed = hosts.map(([k, host]): Placed => ({
        selector: `d${k % limits.length}`,
        host: `n${host % nodes.length}`,
      }));
      const dependencies = limits.map((maxNetworkCost, k): Dependency => ({
        selector: `d${k}`,
        maxNetworkCost,
      }));
      const ofGraph = nodes.map(({ name, region, zone }) =>
        node(name, null, null, { region: region || null, zone: zone || null }),
      );
      const cluster = new ClusterGraph(
        { version: 1, observedAt: "2026-01-01T00:00:00.000Z", windowSeconds: 30, nodes: ofGraph, links: [] },
        { declared: { regions: rows(regions), zones: rows(zones), sameZone: 1 } },
      );
      const of = problem(
        ofGraph,
        [],
        [
          workload("p", USE, {}),
          ...dependencies.map(({ selector }) =>
            workload(
              selector,
              USE,
              Object.fromEntries(
                placed.flatMap((pod, k) => (pod.selector === selector ? [[`pod-${k}`, pod.host]] : [])),
              ),
            ),
          ),
        ],
        dependencies.map(({ selector, maxNetworkCost }) =>
          channel("p", selector, null, { origin: "declared", maxNetworkCost }),
        ),
        { cluster: { graph: cluster, ageSeconds: 1 } },
      );
      const wanted = nodes.map((each) => asWritten(each, nodes, placed, dependencies, { regions, zones }));
      const table = strategy.score(of);
      expect([...table.raw]).toEqual(wanted.map(({ cost }) => cost));
      expect(Object.fromEntries(strategy.filter(of))).toEqual(
        Object.fromEntries(
          wanted.flatMap(({ satisfied, violated }, row) =>
            violated > satisfied
              ? [
                  [
                    `n${row}`,
                    `Node n${row} does not meet several network requirements from Workload dependencies: Satisfied: ${satisfied} Violated: ${violated}`,
                  ],
                ]
              : [],
          ),
        ),
      );
      expect([...table.score].every((score) => Number.isInteger(score) && score >= 0 && score <= 100)).toBe(
        true,
      );
    }),
    { numRuns: 300 },
  );
});

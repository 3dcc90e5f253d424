// A reproducible fixture for comparing implementations of NetworkOverhead.
import { seeded } from "@isochrone/primitives";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { ClusterNode, DeclaredAreaCosts, Workload } from "@isochrone/topology";
import type { PlacementProblem } from "../scoring/problem.ts";
import { channel, node } from "./problems.ts";

const REGIONS = 10;
const ZONES_PER_REGION = 10;
const ZONES = REGIONS * ZONES_PER_REGION;
const DEPENDENCIES = 10;
const PLACED = 50;
const SEED = 42;
const AT = "2026-01-01T00:00:00.000Z";

export const CHECKSUMS = [
  { nodes: 1_000, pass: 600, rawSum: 2_245_150, min: 1_992, max: 2_585, scoreSum: 57_839 },
  { nodes: 5_000, pass: 3_000, rawSum: 11_225_950, min: 1_992, max: 2_585, scoreSum: 289_159 },
  { nodes: 10_000, pass: 6_000, rawSum: 22_451_950, min: 1_992, max: 2_585, scoreSum: 578_309 },
] as const;

/** Pod `wt-0` of workload `wt` depends on w0 to w9, whose 50 pods are placed at random. */
export function commonFixture(nodeCount: number): PlacementProblem {
  const nodes = Array.from({ length: nodeCount }, (_, index) => fixtureNode(index));
  const cluster = new ClusterGraph(
    { version: 1, observedAt: AT, windowSeconds: 300, nodes, links: [] },
    { declared: areaCosts(), maxAgeSeconds: Infinity },
  );
  return {
    pod: { namespace: "default", name: "wt-0", workload: "wt" },
    candidates: nodes.map(({ name }) => name),
    cluster: { graph: cluster, ageSeconds: 0 },
    workflow: { graph: fixtureWorkflow(nodeCount), ageSeconds: 0 },
  };
}

/** Returns a new graph on each call, for measurements without caches. */
export function fixtureWorkflow(nodeCount: number): WorkflowGraph {
  const draw = seeded(SEED);
  const pods = Array.from({ length: DEPENDENCIES }, (): { name: string; node: string }[] => []);
  for (let k = 0; k < PLACED; k++)
    pods[k % DEPENDENCIES]!.push({ name: `placed-${k}`, node: `n-${(draw() * 2 ** 32) % nodeCount}` });
  const workload = (name: string, own: Workload["pods"]): Workload => ({
    name,
    kind: "Deployment",
    namespace: "default",
    cpuMillicores: null,
    memoryBytes: null,
    pods: own,
  });
  return new WorkflowGraph({
    version: 1,
    observedAt: AT,
    namespace: "default",
    name: "fixture",
    workloads: [workload("wt", []), ...pods.map((own, w) => workload(`w${w}`, own))],
    channels: pods.map((_, w) =>
      channel("wt", `w${w}`, null, { origin: "declared", maxNetworkCost: 30 + 4 * w }),
    ),
  });
}

function fixtureNode(index: number): ClusterNode {
  const region = index % REGIONS;
  const zone = region * ZONES_PER_REGION + (Math.floor(index / REGIONS) % ZONES_PER_REGION);
  return node(`n-${index}`, null, null, { region: `r${region}`, zone: zoneName(zone) });
}

function areaCosts(): DeclaredAreaCosts {
  const between = (count: number, name: (area: number) => string, cost: (a: number, b: number) => number) =>
    new Map(
      Array.from({ length: count }, (_, a) => {
        const others = Array.from({ length: count }, (_, b) => b).filter((b) => b !== a);
        return [name(a), new Map(others.map((b) => [name(b), cost(a, b)]))] as const;
      }),
    );
  return {
    regions: between(
      REGIONS,
      (a) => `r${a}`,
      (a, b) => 20 + ((31 * a + 17 * b) % 61),
    ),
    zones: between(ZONES, zoneName, (p, q) => 1 + ((13 * p + 7 * q) % 15)),
    sameZone: 1,
  };
}

function zoneName(zone: number): string {
  return `z${Math.floor(zone / ZONES_PER_REGION)}-${zone % ZONES_PER_REGION}`;
}

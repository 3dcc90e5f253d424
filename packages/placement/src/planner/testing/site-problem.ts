// Problems on published latency matrices: a tree of services on hosts of a matrix.
import { seeded } from "@isochrone/primitives";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { Channel } from "@isochrone/topology";
import { channel, links, node, workload } from "../../testing/problems.ts";
import type { PlanNode, PlanPod, PlanProblem } from "../objective/plan-problem.ts";
import { drawIndex, shuffle } from "../search/draws.ts";

/** Round trips in ms by row and column. Null: not measured. */
type Matrix = readonly (readonly (number | null)[])[];

const SITE_SIZE = { services: 27, hosts: 9 } as const;
const TIGHTNESS = [0.25, 0.45, 0.6, 0.75];
const RESOURCES = ["cpu", "memory", "pods"];
const AT = "2026-01-01T00:00:00.000Z";

/** Returns a reproducible problem; every four seeds go from loose to tight. */
export function siteProblem(seed: number, matrix: Matrix): PlanProblem {
  const { services, hosts } = SITE_SIZE;
  const draw = seeded(seed);
  const rows = [...matrix.keys()];
  shuffle(rows, draw);
  const chosen = rows.slice(0, hosts);
  const names = Array.from({ length: services }, (_, at) => `w${at}`);
  const pods = names.map((name): PlanPod => {
    const demand = Float64Array.of(100 + 50 * drawIndex(draw, 10), 1e8 * (1 + drawIndex(draw, 9)), 1);
    return { namespace: "shop", name: `${name}-0`, workload: name, demand, allowed: null, current: -1 };
  });
  const demand = pods.reduce((sum, pod) => sum + pod.demand[0]!, 0);
  const mean = demand / (TIGHTNESS[seed % TIGHTNESS.length]! * hosts);
  const nodes = chosen.map((_, at): PlanNode => {
    const cpu = Math.ceil(mean * (0.8 + 0.4 * draw()));
    const allocatable = Float64Array.of(1.1 * cpu, 64e9, 110);
    return {
      name: `n${at}`,
      zone: `z${at % 3}`,
      region: "r",
      allocatable,
      free: Float64Array.of(cpu, 48e9, 100),
    };
  });
  const measured = nodes.flatMap((a, from) =>
    nodes.slice(0, from).flatMap((b, to) => {
      const ms = matrix[chosen[from]!]![chosen[to]!];
      return typeof ms === "number" ? [[a.name, b.name, ms] as const] : [];
    }),
  );
  return {
    nodes,
    pods,
    resources: RESOURCES,
    constraints: [],
    cluster: new ClusterGraph({
      version: 1,
      observedAt: AT,
      windowSeconds: 30,
      nodes: nodes.map(({ name, zone, region }) => node(name, null, null, { zone, region })),
      links: links(...measured),
    }),
    workflow: new WorkflowGraph({
      version: 1,
      observedAt: AT,
      namespace: "shop",
      name: "flow",
      channels: [...channelsOf(draw, names), channel("users", "w0", 5_000)],
      workloads: [
        ...names.map((name) => workload(name, { cpu: null, memory: null }, { [`${name}-0`]: null })),
        workload("users", { cpu: null, memory: null }, { "users-0": nodes[0]!.name }),
      ],
    }),
  };
}

function channelsOf(draw: () => number, names: readonly string[]): Channel[] {
  const pairs = new Map<string, Channel>();
  const connect = (from: number, to: number): void => {
    const rate = Math.round(10 ** (2 + 2.5 * draw()));
    if (from !== to) pairs.set(`${from} ${to}`, channel(names[from]!, names[to]!, rate));
  };
  for (let at = 1; at < names.length; at++) connect(Math.floor(draw() * drawIndex(draw, at)), at);
  for (let more = 0; more < names.length / 2; more++)
    connect(drawIndex(draw, names.length), drawIndex(draw, names.length));
  return [...pairs.values()];
}

import { seeded, type Draw } from "@isochrone/primitives";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { Channel, Link } from "@isochrone/topology";
import { channel, link, node } from "../../testing/problems.ts";
import type { DomainConstraint, PlanNode, PlanPod, PlanProblem, PlanUse } from "../objective/plan-problem.ts";
import { drawIndex } from "../search/draws.ts";

export interface InstanceSize {
  readonly pods: number;
  readonly nodes: number;
  readonly zones?: number;
  /** Mean share of capacity that pods request. */
  readonly tightness?: number;
  readonly nearest?: number;
  readonly constraints?: number;
  /** Mean share of the CPU in use, by pods and others. @default unknown */
  readonly use?: number;
}

/** Up to 12 pods on up to 8 nodes, loose and tight; every fourth with nearest-replica routing. */
export function smallProblem(seed: number): PlanProblem {
  return randomProblem(seed, {
    pods: 6 + (seed % 7),
    nodes: 4 + (seed % 5),
    tightness: 0.3 + 0.06 * (seed % 11),
    nearest: seed % 4 === 0 ? 0.3 : 0,
  });
}

/** Prices are 0 within a zone and random between zones, some unknown, independent of latency. */
export function pricedProblem(problem: PlanProblem, seed: number): PlanProblem {
  const draw = seeded(seed + 0.25);
  const { nodes } = problem.cluster;
  const zones = [...new Set(nodes.map(({ zone }) => zone))];
  const places = zones.length;
  const perByte = new Float64Array(places ** 2);
  let unknownPairs = 0;
  for (let a = 0; a < places; a++) {
    for (let b = a + 1; b < places; b++) {
      const isUnknown = draw() < 0.1;
      if (isUnknown) unknownPairs++;
      const price = isUnknown ? Number.NaN : (1 + drawIndex(draw, 8)) * 1e-11;
      perByte[a * places + b] = perByte[b * places + a] = price;
    }
  }
  const placeOf = Int32Array.from(nodes, ({ zone }) => zones.indexOf(zone));
  return { ...problem, prices: { currency: "USD", placeOf, places, perByte, unknown: [], unknownPairs } };
}

interface Drawn {
  readonly draw: Draw;
  readonly pods: readonly PlanPod[];
  readonly nodes: readonly PlanNode[];
  readonly workloads: readonly string[];
}

const AT = "2026-01-01T00:00:00.000Z";
const RESOURCES = ["cpu", "memory", "pods"];

export function randomProblem(seed: number, size: InstanceSize): PlanProblem {
  const draw = seeded(seed);
  const zones = size.zones ?? 3;
  const workloads = Array.from({ length: Math.max(2, Math.ceil(size.pods / 2)) }, (_, at) => `w${at}`);
  const pods = planPods(draw, size, workloads);
  const demand = pods.reduce((sum, pod) => sum + pod.demand[0]!, 0);
  const capacity = demand / ((size.tightness ?? 0.5) * size.nodes);
  const nodes = Array.from({ length: size.nodes }, (_, at): PlanNode => {
    const cpu = Math.ceil(Math.max(1_000, capacity * (0.7 + 0.6 * draw())));
    const used = Math.floor(cpu * 0.5 * draw());
    return {
      name: `n${at}`,
      zone: `z${at % zones}`,
      region: "r",
      allocatable: Float64Array.of(cpu + used, 64e9, 110),
      free: Float64Array.of(cpu, 48e9, 100),
    };
  });
  const drawn: Drawn = { draw, pods, nodes, workloads };
  return {
    nodes,
    pods,
    resources: RESOURCES,
    constraints: constraintsOf(drawn, size.constraints ?? 0.3),
    cluster: clusterOf(draw, nodes),
    workflow: workflowOf(drawn, size.nearest ?? 0),
    ...(size.use === undefined ? {} : { use: useOf(seeded(seed + 0.5), drawn, size.use) }),
  };
}

/** Draws use independently of requests: up to twice as much. One node in eight is unmeasured. */
function useOf(draw: Draw, { pods, nodes }: Drawn, share: number): PlanUse {
  const uses = Float64Array.from(pods, ({ demand }) => Math.round(demand[0]! * 2 * draw()));
  const others = Float64Array.from(nodes, () => Math.round(200 * draw()));
  const all = uses.reduce((sum, each) => sum + each, 0);
  const capacity = Float64Array.from(others, (used) => {
    const own = used + Math.round((all / (share * nodes.length)) * (0.6 + 0.8 * draw()));
    return draw() < 0.125 ? 0 : own;
  });
  return { capacity, others, pods: uses };
}

function planPods(draw: Draw, size: InstanceSize, workloads: readonly string[]): PlanPod[] {
  return Array.from({ length: size.pods }, (_, at) => {
    const allowed =
      draw() < 0.15 ? Uint8Array.from({ length: size.nodes }, () => (draw() < 0.7 ? 1 : 0)) : null;
    return {
      namespace: "shop",
      name: `p${at}`,
      workload: workloads[at < workloads.length ? at : drawIndex(draw, workloads.length)]!,
      demand: Float64Array.of(100 + 50 * drawIndex(draw, 10), 1e8 * (1 + drawIndex(draw, 9)), 1),
      allowed,
      current: -1,
    };
  });
}

function clusterOf(draw: Draw, nodes: readonly PlanNode[]): ClusterGraph {
  const links: Link[] = [];
  for (const a of nodes) {
    for (const b of nodes) {
      if (a === b || (nodes.length > 64 && draw() > 16 / nodes.length)) continue;
      const ms = a.zone === b.zone ? 0.2 + draw() : 2 + 30 * draw() * draw();
      const fate = draw();
      if (fate < 0.02) continue;
      links.push(link(a.name, b.name, fate < 0.03 ? null : Math.round(ms * 1_000) / 1_000));
    }
  }
  return new ClusterGraph({
    version: 1,
    observedAt: AT,
    windowSeconds: 30,
    nodes: nodes.map(({ name, zone, region }) => node(name, null, null, { zone, region })),
    links,
  });
}

function workflowOf({ draw, pods, nodes, workloads }: Drawn, nearest: number): WorkflowGraph {
  const channels: Channel[] = [];
  const connect = (source: string, target: string): void => {
    const fields = draw() < nearest ? { routing: "nearest" as const } : {};
    channels.push(channel(source, target, Math.round(10 ** (2 + 3 * draw())), fields));
  };
  for (let at = 1; at < workloads.length; at++) connect(workloads[drawIndex(draw, at)]!, workloads[at]!);
  for (let more = 0; more < workloads.length / 3; more++)
    connect(workloads[drawIndex(draw, workloads.length)]!, workloads[drawIndex(draw, workloads.length)]!);
  const stores = Array.from({ length: 1 + drawIndex(draw, 2) }, (_, at) => `store${at}`);
  for (const store of stores) connect(workloads[drawIndex(draw, workloads.length)]!, store);
  const standing = (name: string): { name: string; node: string } => ({
    name,
    node: nodes[drawIndex(draw, nodes.length)]!.name,
  });
  return new WorkflowGraph({
    version: 1,
    observedAt: AT,
    namespace: "shop",
    name: "flow",
    channels,
    workloads: [
      ...workloads.map((name) => ({
        name,
        kind: "Deployment",
        namespace: "shop",
        cpuMillicores: null,
        memoryBytes: null,
        pods: [
          ...pods.filter((pod) => pod.workload === name).map((pod) => ({ name: pod.name, node: null })),
          ...(draw() < 0.15 ? [standing(`${name}-old`)] : []),
        ],
      })),
      ...stores.map((name) => ({
        name,
        kind: "StatefulSet",
        namespace: "shop",
        cpuMillicores: null,
        memoryBytes: null,
        pods: [standing(`${name}-0`)],
      })),
    ],
  });
}

function constraintsOf(drawn: Drawn, odds: number): DomainConstraint[] {
  return drawn.workloads.flatMap((workload) => {
    const own = [...drawn.pods.keys()].filter((pod) => drawn.pods[pod]!.workload === workload);
    return [...replicaRules(drawn, workload, own, odds), ...affinityRules(drawn, workload, own, odds)];
  });
}

function replicaRules(
  { draw, nodes }: Drawn,
  workload: string,
  own: readonly number[],
  odds: number,
): DomainConstraint[] {
  const rules: DomainConstraint[] = [];
  if (own.length < 2) return rules;
  const both = { subjects: own, members: own };
  if (draw() < odds) {
    const domains = zonesOf(nodes);
    const placed = domains.placed.map(() => (draw() < 0.2 ? 1 : 0));
    const minDomains = draw() < 0.2 ? 3 : null;
    const maxSkew = 1 + drawIndex(draw, 2);
    rules.push({
      kind: "spread",
      name: `zone spread of ${workload}`,
      ...domains,
      placed,
      ...both,
      maxSkew,
      minDomains,
    });
  }
  const fate = draw();
  if (fate < odds)
    rules.push({ kind: "apart", name: `host anti-affinity of ${workload}`, ...hostsOf(nodes), ...both });
  else if (fate < 2 * odds) {
    const name = `host span of ${workload}`;
    rules.push({ kind: "span", name, ...hostsOf(nodes), ...both, minDistinct: 2 });
  }
  return rules;
}

function affinityRules(
  { draw, pods, nodes, workloads }: Drawn,
  workload: string,
  own: readonly number[],
  odds: number,
): DomainConstraint[] {
  if (draw() >= odds / 3) return [];
  // Only to earlier pods: kube-scheduler can't place two that wait for each other.
  const earlier = workloads.slice(0, workloads.indexOf(workload));
  const others = [...pods.keys()].filter((pod) => earlier.includes(pods[pod]!.workload!));
  const members = others.length === 0 || draw() < 0.3 ? own : [others[drawIndex(draw, others.length)]!];
  return [
    { kind: "together", name: `zone affinity of ${workload}`, ...zonesOf(nodes), subjects: own, members },
  ];
}

interface Domains {
  readonly domainOf: Int32Array;
  readonly placed: Int32Array;
}

function hostsOf(nodes: readonly PlanNode[]): Domains {
  return { domainOf: Int32Array.from(nodes.keys()), placed: new Int32Array(nodes.length) };
}

function zonesOf(nodes: readonly PlanNode[]): Domains {
  const names = [...new Set(nodes.map(({ zone }) => zone))];
  return {
    domainOf: Int32Array.from(nodes, ({ zone }) => names.indexOf(zone)),
    placed: new Int32Array(names.length),
  };
}

import { ClusterGraph, WorkflowGraph, type Link } from "@isochrone/topology";
import { channel, link, node, workload } from "../../testing/problems.ts";
import type { ApiObject } from "../../feasibility/objects/json.ts";
import { planProblem } from "../../feasibility/planning/plan-problem.ts";
import { SchedulingModel } from "../../feasibility/scheduling-model.ts";
import { replacementOf } from "../replacement.ts";
import type { MovablePod, MoveRules, WorkflowToImprove } from "../deschedule-input.ts";

export const RULES: MoveRules = {
  bytesPerRequest: 2_000,
  pressureShare: 0.1,
  maxCpuUse: 0.8,
  moneyShare: 0,
  maxLatencyLoss: 0.1,
  minNodes: 2,
  minZones: 2,
  minGainRatio: 0.2,
  minWorkflowGainRatio: 0,
  minGain: 0,
  rounds: 1,
  intervalMs: 3_600_000,
  maxEvictions: 100,
  maxEvictionsPerNode: 100,
  maxEvictionsPerNamespace: 100,
  maxEvictionsPerHour: 1_000,
  maxGroup: 3,
  maxUnreadyRatio: 0.1,
};

export interface ShopOptions {
  /** Zone by node. @default n1 and n2 in za, n3 and n4 in zb */
  readonly nodes?: Readonly<Record<string, string>>;
  /** One-CPU pods that fit on a node. @default 8 */
  readonly cpus?: number;
  readonly cpusOf?: Readonly<Record<string, number>>;
  /** Nodes of the pods by workload. Pods are named web-0, web-1, ... */
  readonly pods: Readonly<Record<string, readonly string[]>>;
  readonly channels: readonly (readonly [string, string, number])[];
  /** Round-trip cost, milliseconds. @default 1 within a zone, 20 between zones */
  readonly costMs?: (a: string, b: string) => number;
  /** Error of each cost, milliseconds. @default unknown */
  readonly errorMs?: number;
  readonly linkOf?: (a: string, b: string) => Partial<Link>;
  /** Pods or workloads that must not move. */
  readonly fixed?: readonly string[];
  readonly spec?: (workload: string) => Record<string, unknown>;
  readonly usedOf?: Readonly<Record<string, number>>;
  /** Millicores per pod, by workload. @default 1 */
  readonly use?: Readonly<Record<string, number>>;
}

export interface Shop {
  readonly workflow: WorkflowToImprove;
  readonly model: SchedulingModel;
  readonly cluster: ClusterGraph;
  readonly graph: WorkflowGraph;
}

const SNAPSHOT = { version: 1, observedAt: "2026-01-01T00:00:00.000Z" };

export const TWO_ZONES: Readonly<Record<string, string>> = { n1: "za", n2: "za", n3: "zb", n4: "zb" };

export function shop(options: ShopOptions): Shop {
  const { nodes = TWO_ZONES, cpus = 8, cpusOf = {}, pods, channels, fixed = [] } = options;
  const names = Object.keys(nodes);
  const availableOn = (name: string): number | null =>
    options.usedOf === undefined ? null : 8_000 - (options.usedOf[name] ?? 0);
  const byZone = (a: string, b: string): number => (nodes[a] === nodes[b] ? 1 : 20);
  const costMs = options.costMs ?? byZone;
  const errors = options.errorMs === undefined ? {} : { errorMs: options.errorMs };
  const cluster = new ClusterGraph({
    ...SNAPSHOT,
    windowSeconds: 30,
    nodes: names.map((name) => node(name, availableOn(name), null, { zone: nodes[name]! })),
    links: names.flatMap((a) =>
      names
        .filter((b) => b !== a)
        .map((b) => link(a, b, costMs(a, b), { ...errors, ...options.linkOf?.(a, b) })),
    ),
  });
  const graph = new WorkflowGraph({
    ...SNAPSHOT,
    namespace: "shop",
    name: "flow",
    workloads: Object.entries(pods).map(([name, on]) =>
      workload(
        name,
        { cpu: options.use?.[name] ?? 1, memory: 1 },
        Object.fromEntries(on.map((where, index) => [`${name}-${index}`, where])),
      ),
    ),
    channels: channels.map(([source, target, rate]) => channel(source, target, rate)),
  });
  const raw = Object.entries(pods).flatMap(([name, on]) =>
    on.map((where, index) => rawPod(name, index, where, options.spec?.(name) ?? {})),
  );
  const model = SchedulingModel.of({
    nodes: names.map((name) => rawNode(name, nodes[name]!, cpusOf[name] ?? cpus)),
    pods: raw,
  });
  const moved = raw.filter(
    ({ metadata: { name } }) => !fixed.includes(name) && !fixed.includes(name.replace(/-\d+$/, "")),
  );
  const problem = planProblem({
    model,
    pods: moved.map(replacementOf),
    cluster,
    workflow: graph,
    spread: { hostnameMaxSkew: null, zoneMaxSkew: null },
  });
  const movable = moved.map(({ metadata: { name } }): MovablePod => {
    const owner = name.replace(/-\d+$/, "");
    return {
      uid: `uid-${name}`,
      namespace: "shop",
      name,
      owner: `shop/${owner}`,
      replicaNodes: pods[owner]!,
    };
  });
  return { workflow: { key: "shop/flow", problem, pods: movable }, model, cluster, graph };
}

function rawNode(name: string, zone: string, cpus: number): ApiObject {
  const labels = { "kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone };
  const allocatable = { cpu: String(cpus), memory: "64Gi", pods: "110" };
  const metadata = { name, labels };
  return { metadata, spec: {}, status: { allocatable, conditions: [{ type: "Ready", status: "True" }] } };
}

function rawPod(workload: string, index: number, nodeName: string, spec: Record<string, unknown>): ApiObject {
  const metadata = {
    name: `${workload}-${index}`,
    namespace: "shop",
    labels: { app: workload },
    ownerReferences: [
      { apiVersion: "apps/v1", kind: "ReplicaSet", name: workload, uid: workload, controller: true },
    ],
  };
  const containers = [{ name: "app", resources: { requests: { cpu: "1", memory: "1Gi" } } }];
  return { metadata, spec: { nodeName, containers, ...spec }, status: { phase: "Running" } };
}

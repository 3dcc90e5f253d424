// Builds graphs as Isochrone's aggregator would: from declarations before the first run, from monitoring
// afterwards.
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type {
  Channel,
  ClusterGraphSnapshot,
  ClusterNode,
  DeclaredCosts,
  Link,
  Workload,
} from "@isochrone/topology";
import type { Point, PointCluster } from "../scenario/model.ts";
import { podsOf } from "./pods.ts";
import type { Observation, Placement } from "./port.ts";

export const NAMESPACE = "default";
const SNAPSHOT = { version: 1, observedAt: "2026-01-01T00:00:00.000Z" } as const;
const WINDOW_SECONDS = 30;
const NOTHING_DECLARED = { priority: null, maxNetworkCost: null, minBandwidthBitsPerSecond: null } as const;
/** Default relationship of calls, named as in 001. */
const RELATIONSHIP = "HTTPRoute";

export interface Amounts {
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
}

interface ClusterGraphOptions {
  /** Usage by node; the rest is available. @default nothing is used */
  readonly used?: ReadonlyMap<string, Amounts>;
  /** Costs of a NetworkTopology. @default none */
  readonly declaredCosts?: DeclaredCosts;
}

export function clusterGraph(cluster: PointCluster, options: ClusterGraphOptions = {}): ClusterGraph {
  const { used = new Map<string, Amounts>(), declaredCosts } = options;
  const { nodes, rttMs } = cluster;
  const snapshot: ClusterGraphSnapshot = {
    ...SNAPSHOT,
    windowSeconds: WINDOW_SECONDS,
    nodes: nodes.map((node): ClusterNode => {
      const taken = used.get(node.name) ?? { cpuMillicores: 0, memoryBytes: 0 };
      return {
        name: node.name,
        zone: node.zone,
        region: node.region,
        segment: null,
        ready: true,
        cordoned: false,
        allocatableCpuMillicores: node.cpuMillicores,
        allocatableMemoryBytes: node.memoryBytes,
        availableCpuMillicores: node.cpuMillicores - taken.cpuMillicores,
        availableMemoryBytes: node.memoryBytes - taken.memoryBytes,
        coordinate: null,
        usageAgeSeconds: 0,
      };
    }),
    links: nodes.flatMap((source, from) =>
      nodes.flatMap((target, to) => (from === to ? [] : [link(source.name, target.name, rttMs[from]![to]!)])),
    ),
    ...(declaredCosts === undefined ? {} : { declaredCosts }),
  };
  return new ClusterGraph(snapshot);
}

function link(source: string, target: string, rttMs: number): Link {
  return {
    source,
    target,
    method: "udp_rr",
    ipFamily: 4,
    rttMs: { p50: rttMs, p90: rttMs, p99: null, mean: rttMs, count: WINDOW_SECONDS },
    lossRatio: 0,
    jitterMs: 0,
    bandwidthBitsPerSecond: { capacity: null, achieved: null, available: null },
    costMs: rttMs,
    errorMs: 0,
    origin: "measured",
    provisional: false,
    ageSeconds: 0,
    observedAt: SNAPSHOT.observedAt,
  };
}

interface WorkflowGraphOptions {
  /** Placed pods. @default none */
  readonly placement?: Placement;
  /** Callees also depend on their callers. @default false */
  readonly bothWays?: boolean;
  /** Limit of every declared channel. @default none */
  readonly maxNetworkCost?: number | null;
}

export function workflowGraph(
  point: Point,
  before: Observation | null,
  options: WorkflowGraphOptions = {},
): WorkflowGraph {
  const { placement = new Map<string, string>() } = options;
  const { workflow } = point;
  const pods = podsOf(point);
  const workloads = workflow.workloads.map(({ name }): Workload => {
    const use = before?.use.get(name);
    return {
      name,
      kind: "Deployment",
      namespace: NAMESPACE,
      cpuMillicores: use?.cpuMillicores ?? null,
      memoryBytes: use?.memoryBytes ?? null,
      pods: pods
        .filter(({ workload }) => workload === name)
        .map((pod) => ({ name: pod.name, node: placement.get(pod.name) ?? null })),
    };
  });
  const users = usersOf(point, before);
  return new WorkflowGraph({
    ...SNAPSHOT,
    namespace: NAMESPACE,
    name: workflow.name,
    workloads: users === null ? workloads : [...workloads, users],
    channels: channelsOf(point, before, options),
  });
}

function channelsOf(
  { workflow }: Point,
  before: Observation | null,
  { bothWays = false, maxNetworkCost = null }: WorkflowGraphOptions,
): Channel[] {
  const channels = new Map<string, Channel>();
  const add = (source: string, target: string, fields: Partial<Channel>): void => {
    const key = JSON.stringify([source, target]);
    const known = channels.get(key) ?? {
      source,
      target,
      bytesPerSecond: null,
      requestsPerSecond: null,
      errorRatio: null,
      ...NOTHING_DECLARED,
      origin: "observed",
      ageSeconds: 0,
    };
    channels.set(key, { ...known, ...fields });
  };
  for (const { name, calls } of workflow.workloads) {
    for (const { callee, channelType = RELATIONSHIP } of calls) {
      const routed: Partial<Channel> =
        workflow.prefersSameZone === true ? { routing: "nearest", routingScopes: ["zone"] } : {};
      const declared: Partial<Channel> = {
        origin: "declared",
        relationshipType: channelType,
        maxNetworkCost,
        ...routed,
      };
      add(name, callee, declared);
      if (bothWays) add(callee, name, declared);
    }
  }
  for (const { source, target, requestsPerSecond, bytesPerSecond } of before?.traffic ?? [])
    add(source, target, { requestsPerSecond, bytesPerSecond });
  return [...channels.values()];
}

/** Caller of the entry from a named node, such as an ingress. Observed in traffic, never moved. */
function usersOf({ workflow }: Point, before: Observation | null): Workload | null {
  const names = new Set(workflow.workloads.map(({ name }) => name));
  const caller = before?.traffic.find(({ source }) => !names.has(source))?.source;
  if (caller === undefined || workflow.usersAt === null) return null;
  const pods = [{ name: `${caller}-0`, node: workflow.usersAt }];
  return {
    name: caller,
    kind: "Unknown",
    namespace: NAMESPACE,
    cpuMillicores: null,
    memoryBytes: null,
    pods,
  };
}

/** Usage of placed pods by node. Workloads without an observation count with their requests. */
export function usedAmounts(
  point: Point,
  placement: Placement,
  before: Observation | null,
): Map<string, Amounts> {
  const used = new Map<string, { cpuMillicores: number; memoryBytes: number }>();
  for (const pod of podsOf(point)) {
    const node = placement.get(pod.name);
    if (node === undefined) continue;
    const sum = used.get(node) ?? { cpuMillicores: 0, memoryBytes: 0 };
    const use = before?.use.get(pod.workload) ?? pod;
    sum.cpuMillicores += use.cpuMillicores;
    sum.memoryBytes += use.memoryBytes;
    used.set(node, sum);
  }
  return used;
}

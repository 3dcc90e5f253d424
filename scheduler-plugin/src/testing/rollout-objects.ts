// Objects and graphs of a cluster with rolling updates, and the cost of its best plan.
import { conditionsOf, KINDS } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { createObjective, planProblem, SchedulingModel } from "@isochrone/placement";
import { channel, links, node as graphNode, workload as graphWorkload } from "@isochrone/placement/testing";
import { looseFields } from "@isochrone/primitives";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { ClusterGraphSnapshot, WorkflowGraphSnapshot } from "@isochrone/topology";
import { searchPlan } from "../planner/domain/search.ts";
import { pressureShareOf } from "../planner/workflow-to-be.ts";

export const NAMESPACE = "shop";
const REGIONS = ["eu", "us", "ap"];
export const NODES: readonly string[] = REGIONS.flatMap((region) => [1, 2, 3].map((at) => `${region}-${at}`));
export const HASH = "pod-template-hash";
export const CPU = "500m";

/** Caller, callee, bytes/s. */
export type Channels = readonly (readonly [string, string, number])[];

export interface OverBest {
  readonly network: number;
  readonly total: number;
}

interface DeploymentFields {
  readonly replicas: number;
  readonly paused?: boolean;
  readonly revision: number;
}

export function fieldsOf(deployment: KubernetesObject): DeploymentFields {
  const { replicas, paused, revision } = looseFields<DeploymentFields>(deployment.spec);
  return { replicas: Number(replicas), paused: paused === true, revision: Number(revision) };
}

export const READY = [{ type: "Ready", status: "True" }];

export const labelsOf = (workload: string): Record<string, string> => ({
  app: workload,
  "isochrone.dev/workflow": "flow",
});

export const podSpec = (): Record<string, unknown> => ({
  containers: [{ name: "main", image: "none", resources: { requests: { cpu: CPU } } }],
});

export const workloadOf = (pod: KubernetesObject): string => pod.metadata.labels!.app!;
export const isOf = (pod: KubernetesObject, workload: string): boolean => workloadOf(pod) === workload;
export const isReady = (pod: KubernetesObject): boolean =>
  conditionsOf(pod).some(({ type, status }) => type === "Ready" && status === "True");

export function openTo({ metadata, status }: KubernetesObject): readonly string[] {
  const among = metadata.annotations?.["isochrone.dev/planned-among"]?.split(",") ?? NODES;
  const nominated = status?.nominatedNodeName;
  return typeof nominated === "string" ? [nominated, ...among] : among;
}

export function nodeOf(pod: KubernetesObject): string | null {
  const name = pod.spec?.nodeName;
  return typeof name === "string" ? name : null;
}

export function isNewest(pod: KubernetesObject, all: readonly KubernetesObject[]): boolean {
  const revisionOf = ({ metadata }: KubernetesObject): number => Number(metadata.labels![HASH]!.slice(1));
  return all.every((other) => workloadOf(other) !== workloadOf(pod) || revisionOf(other) <= revisionOf(pod));
}

export function nodeObject(name: string, cpu: string): KubernetesObject {
  const region = name.slice(0, 2);
  return {
    ...KINDS.node,
    metadata: {
      name,
      labels: {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": `${region}-${name.slice(-1)}`,
        "topology.kubernetes.io/region": region,
      },
    },
    status: {
      allocatable: { cpu, memory: "64Gi", pods: "110" },
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

/** Regions have different internal distances, so one is best. */
function costMs(a: string, b: string): number {
  const [from, to] = [REGIONS.indexOf(a.slice(0, 2)), REGIONS.indexOf(b.slice(0, 2))];
  const steps = Math.abs(Number(a.slice(-1)) - Number(b.slice(-1)));
  return from === to ? (1 + 0.3 * from) * (0.4 + 0.2 * steps) : 40 + 30 * Math.abs(from - to) + steps;
}

export function clusterSnapshot(nowMs: number): ClusterGraphSnapshot {
  return {
    version: 1,
    observedAt: new Date(nowMs).toISOString(),
    // The tests run for hours on one graph.
    windowSeconds: 36_000,
    nodes: NODES.map((name) => graphNode(name, 4_000, 64e9, { zone: name, region: name.slice(0, 2) })),
    links: links(
      ...NODES.flatMap((a, from) =>
        NODES.slice(from + 1).map((b): [string, string, number] => [a, b, costMs(a, b)]),
      ),
    ),
  };
}

export function snapshotOf(
  channels: Channels,
  workloads: readonly string[],
  pods: readonly KubernetesObject[],
  nowMs: number,
): WorkflowGraphSnapshot {
  return {
    version: 1,
    observedAt: new Date(nowMs).toISOString(),
    namespace: NAMESPACE,
    name: "flow",
    workloads: workloads.map((name) =>
      graphWorkload(
        name,
        { cpu: 100, memory: 1e6 },
        Object.fromEntries(
          pods.filter((pod) => isOf(pod, name)).map((pod) => [pod.metadata.name, nodeOf(pod)]),
        ),
      ),
    ),
    channels: channels.map(([from, to, rate]) => channel(from, to, rate)),
  };
}

interface Judged {
  readonly found: Readonly<Record<string, readonly string[]>>;
  readonly nodes: readonly KubernetesObject[];
  readonly channels: Channels;
  readonly planned: readonly string[];
  readonly nowMs: number;
}

export function overBestOf({ found, nodes, channels, planned, nowMs }: Judged): OverBest {
  const podsOf = (names: readonly string[]): KubernetesObject[] =>
    names.flatMap((name) =>
      found[name]!.map((node, index) => ({
        ...KINDS.pod,
        metadata: {
          namespace: NAMESPACE,
          name: `${name}-${index}`,
          labels: labelsOf(name),
          ownerReferences: [{ ...KINDS.statefulSet, name, uid: name, controller: true }],
        },
        spec: { ...podSpec(), nodeName: node },
      })),
    );
  const workloads = Object.keys(found);
  const others = podsOf(workloads.filter((name) => !planned.includes(name)));
  const pods = podsOf(planned);
  const model = SchedulingModel.of({
    nodes,
    pods: [...others, ...pods],
    persistentVolumes: [],
    persistentVolumeClaims: [],
    csiNodes: [],
    volumeAttachments: [],
  });
  const problem = planProblem({
    model,
    pods,
    cluster: new ClusterGraph(clusterSnapshot(nowMs)),
    workflow: new WorkflowGraph(snapshotOf(channels, workloads, others, nowMs)),
  });
  const settings = { bytesPerRequest: 1_000, maxCpuUse: 0, pressureShare: pressureShareOf(problem, 1_000) };
  let looks = 0;
  const limits = { seed: 7, budgetMs: 20_000, maxAlternatives: 0, now: () => looks++ };
  const best = searchPlan(problem, { ...limits, ...settings });
  const today = Int32Array.from(problem.pods, ({ current }) => current);
  const cost = createObjective(problem, settings).total(today);
  // On one node the network costs nothing.
  const ratio = (a: number, b: number): number => (a === b ? 1 : a / b);
  return { network: ratio(cost.network, best.cost.network), total: ratio(cost.total, best.cost.total) };
}

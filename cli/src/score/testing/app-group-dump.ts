import { scoreDump } from "../score-dump.ts";
import type { DumpScores } from "../score-dump.ts";

const zoneOf: Readonly<Record<string, string>> = { n1: "z1", n2: "z2", n3: "z3" };
/** Cost by origin zone, then destination zone. */
const ZONE_COSTS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  z1: { z2: 10, z3: 20 },
  z2: { z1: 5, z3: 30 },
  z3: { z1: 7, z2: 9 },
};

export const node = (name: string, annotations: Record<string, string> = {}): object => ({
  kind: "Node",
  metadata: {
    name,
    annotations,
    labels: { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": zoneOf[name]! },
  },
});
export const topology = {
  kind: "NetworkTopology",
  metadata: { name: "nt-default" },
  spec: {
    weights: [
      {
        name: "UserDefined",
        topologyList: [
          {
            topologyKey: "topology.kubernetes.io/zone",
            originList: Object.entries(ZONE_COSTS).map(([origin, costs]) => ({
              origin,
              costList: Object.entries(costs).map(([destination, networkCost]) => ({
                destination,
                networkCost,
              })),
            })),
          },
        ],
      },
    ],
  },
};

const labels = (group: string, selector: string): Record<string, string> => ({
  "appgroup.diktyo.x-k8s.io": group,
  "appgroup.diktyo.x-k8s.io.workload": selector,
});

/** A pod whose Deployment is named differently from the AppGroup's workload. `owner` null: a bare pod. */
export function pod(
  namespace: string,
  name: string,
  [group, selector]: readonly [string, string],
  nodeName: string | null,
  owner: string | null,
): object {
  const ownerReferences = [{ kind: "ReplicaSet", name: `${owner}-5d4f`, controller: true }];
  return {
    kind: "Pod",
    metadata: {
      namespace,
      name,
      labels: labels(group, selector),
      ...(owner === null ? {} : { ownerReferences }),
    },
    spec: { containers: [{ name: "c" }], ...(nodeName === null ? {} : { nodeName }) },
  };
}

export function deployment(
  namespace: string,
  name: string,
  [group, selector]: readonly [string, string],
  annotations: Record<string, string> = {},
): object {
  return {
    kind: "Deployment",
    metadata: { namespace, name, annotations },
    spec: {
      selector: { matchLabels: { release: name } },
      template: { metadata: { labels: { release: name, ...labels(group, selector) } } },
    },
  };
}

export type Dependency = readonly [selector: string, limit: number | null, namespace?: string];

export function appGroup(
  namespace: string,
  name: string,
  workloads: Readonly<Record<string, readonly Dependency[]>>,
  annotations: Record<string, string> = {},
): object {
  const reference = (selector: string, of?: string): object => ({
    kind: "Deployment",
    name: `${selector}-deployment`,
    selector,
    ...(of === undefined ? {} : { namespace: of }),
  });
  return {
    kind: "AppGroup",
    metadata: { namespace, name, annotations },
    spec: {
      workloads: Object.entries(workloads).map(([selector, dependencies]) => ({
        workload: reference(selector),
        dependencies: dependencies.map(([target, maxNetworkCost, of]) => ({
          workload: reference(target, of),
          ...(maxNetworkCost === null ? {} : { maxNetworkCost }),
        })),
      })),
    },
  };
}

export function score(
  objects: readonly object[],
  podName: string,
  strategy: string,
  mode: string,
  settings: Record<string, number> = {},
): DumpScores {
  const dumpText = JSON.stringify({ kind: "List", items: objects });
  return scoreDump({ dumpText, podName, strategy, mode, settings });
}
export const upstream = (objects: readonly object[], podName = "shop/web"): unknown[] =>
  score(
    [node("n1"), node("n2"), node("n3"), topology, ...objects],
    podName,
    "network-overhead",
    "upstream",
  ).nodes.map(({ raw, feasible }) => [raw, feasible]);

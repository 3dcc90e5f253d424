import type { ApiObject, Labels } from "../objects/json.ts";
import { SchedulingModel } from "../scheduling-model.ts";

export type Fields = Readonly<Record<string, unknown>>;

interface NodeFields {
  readonly labels?: Labels;
  /** @default 4 CPU, 8Gi, 110 pods */
  readonly allocatable?: Labels;
  readonly spec?: Fields;
  readonly metadata?: Fields;
  /** @default Ready */
  readonly conditions?: readonly Fields[];
}

export interface PodFields {
  readonly namespace?: string;
  readonly labels?: Labels;
  readonly requests?: Labels;
  readonly node?: string;
  readonly spec?: Fields;
  readonly status?: Fields;
  readonly metadata?: Fields;
  /** Name of its ReplicaSet. */
  readonly owner?: string;
}

export function aNode(name: string, zone: string | null = null, fields: NodeFields = {}): ApiObject {
  const { labels = {}, allocatable = {}, spec = {}, metadata = {} } = fields;
  const zoned: Labels = zone === null ? {} : { "topology.kubernetes.io/zone": zone };
  return {
    metadata: { name, labels: { "kubernetes.io/hostname": name, ...zoned, ...labels }, ...metadata } as {
      name: string;
    },
    spec,
    status: {
      allocatable: { cpu: "4", memory: "8Gi", pods: "110", ...allocatable },
      conditions: fields.conditions ?? [{ type: "Ready", status: "True" }],
    },
  };
}

export function aPod(name: string, fields: PodFields = {}): ApiObject {
  const { namespace = "default", labels = {}, requests = {}, node, spec = {}, owner } = fields;
  const ownerReferences =
    owner === undefined ? [] : [{ kind: "ReplicaSet", name: owner, uid: `uid-${owner}`, controller: true }];
  return {
    metadata: { name, namespace, uid: `uid-${name}`, labels, ownerReferences, ...fields.metadata } as {
      name: string;
      namespace: string;
    },
    spec: {
      containers: [{ name: "main", resources: { requests } }],
      ...(node === undefined ? {} : { nodeName: node }),
      ...spec,
    },
    status: fields.status ?? {},
  };
}

export function aModel(
  nodes: readonly ApiObject[],
  pods: readonly ApiObject[] = [],
  others: Partial<Parameters<typeof SchedulingModel.of>[0]> = {},
): SchedulingModel {
  return SchedulingModel.of({ nodes, pods, ...others });
}

/** The rejecting plugin by node; "": admitted. */
export function rejections(model: SchedulingModel, pod: ApiObject): Record<string, string> {
  return Object.fromEntries(model.nodes.map(({ name }) => [name, model.verdict(pod, name)?.plugin ?? ""]));
}

export function required(kind: "podAffinity" | "podAntiAffinity", ...terms: readonly Fields[]): Fields {
  return { affinity: { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: terms } } };
}

export function near(topologyKey: string, matchLabels: Labels, fields: Fields = {}): Fields {
  return { topologyKey, labelSelector: { matchLabels }, ...fields };
}

export function spreadOver(
  topologyKey: string,
  maxSkew: number,
  matchLabels: Labels,
  fields: Fields = {},
): Fields {
  return {
    topologyKey,
    maxSkew,
    whenUnsatisfiable: "DoNotSchedule",
    labelSelector: { matchLabels },
    ...fields,
  };
}

export const HOST = "kubernetes.io/hostname";
export const ZONE = "topology.kubernetes.io/zone";

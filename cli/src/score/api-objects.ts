// Completes objects of a dump as an API server and controllers would.
import {
  isNamespaced,
  matchesLabels,
  templateLabels,
  withoutPlannedNodes,
} from "@isochrone/kubernetes/basics";
import type {
  DeploymentSpec,
  KubernetesObject,
  LabelSelector,
  NodeStatus,
  ObjectMeta,
  PodSpec,
} from "@isochrone/kubernetes";
import type { ApiObject } from "@isochrone/placement";
import { looseFields, looseList } from "@isochrone/primitives";
import { controlledWorkload } from "@isochrone/primitives/workload-name";
import { APP_GROUP_LABELS } from "@isochrone/topology";
import type { DumpObject } from "./read-objects.ts";

type Labels = Readonly<Record<string, string>>;
type Controller = Pick<KubernetesObject, "kind"> & { readonly name: string };

export const WORKLOAD_KINDS: ReadonlySet<string> = new Set([
  "Deployment",
  "StatefulSet",
  "DaemonSet",
  "Job",
  "ReplicaSet",
]);

/** Returns the object as an API server answers it, with a default namespace. */
export function apiObject({
  json,
  namespace,
  name,
  kind,
}: DumpObject): ApiObject & { readonly kind: string } {
  const metadata = { ...looseFields(json.metadata), name };
  const isWithin = isNamespaced({ apiVersion: "", kind });
  return { ...json, kind, metadata: isWithin ? { ...metadata, namespace } : metadata };
}

/** Allocatable resources of a node that states none: never the reason for a rejection. */
const UNSAID_ALLOCATABLE = { cpu: "1M", memory: "1Ei", pods: "1M", "ephemeral-storage": "1Ei" };

/** Like {@link apiObject}. Nodes get ample amounts of resources that the dump omits. */
export function completeObject(object: DumpObject): ReturnType<typeof apiObject> {
  const api = apiObject(object);
  if (object.kind !== "Node") return api;
  const status = looseFields<NodeStatus>(api.status);
  const allocatable = { ...UNSAID_ALLOCATABLE, ...looseFields(status.allocatable) };
  return { ...api, status: { ...status, allocatable } };
}

/** Like {@link apiObject}. Drops metadata that no API server accepts. */
export function kubernetesObject(object: DumpObject): KubernetesObject {
  const api = apiObject(object);
  const metadata = looseFields<ObjectMeta>(api.metadata);
  return {
    ...api,
    metadata: {
      ...metadata,
      labels: texts(metadata.labels),
      annotations: texts(metadata.annotations),
      ownerReferences: looseList(metadata.ownerReferences),
    },
  } as KubernetesObject;
}

function texts(fields: unknown): Labels {
  return Object.fromEntries(
    Object.entries(looseFields(fields)).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string",
    ),
  );
}

export function unplaced(pod: DumpObject): DumpObject {
  const { metadata, spec } = withoutPlannedNodes(apiObject(pod));
  const { deletionTimestamp: _leaving, ...kept } = looseFields<ObjectMeta>(metadata);
  const { nodeName: _node, ...rest } = looseFields<PodSpec>(spec);
  return { ...pod, json: { ...pod.json, metadata: kept, spec: rest, status: {} } };
}

/** Returns all objects, and adds missing owner references to pods. */
export function controlledObjects(objects: readonly DumpObject[]): KubernetesObject[] {
  const all = objects.map(kubernetesObject);
  const controllers = new Controllers(all.filter(({ kind }) => WORKLOAD_KINDS.has(kind)));
  return all.map((object) => (object.kind === "Pod" ? controllers.controlled(object) : object));
}

class Controllers {
  readonly #workloads: ReadonlyMap<string, readonly KubernetesObject[]>;

  constructor(workloads: readonly KubernetesObject[]) {
    this.#workloads = Map.groupBy(workloads, ({ metadata }) => metadata.namespace!);
  }

  /** A pod with a uid comes from a cluster and is returned unchanged. */
  controlled(pod: KubernetesObject): KubernetesObject {
    const { uid, ownerReferences: owners = [] } = pod.metadata;
    if (uid !== undefined) return pod;
    const owner = owners.find(({ controller }) => controller === true) ?? owners[0];
    const found = owner === undefined ? this.#selecting(pod) : this.#above(pod, owner);
    if (found === null) return pod;
    const reference = { apiVersion: "", uid: "", kind: found.kind, name: found.name, controller: true };
    return { ...pod, metadata: { ...pod.metadata, ownerReferences: [reference] } };
  }

  /** Removes the hash that Deployments append, unless the dump has the ReplicaSet. */
  #above({ metadata: { name: pod, namespace, labels } }: KubernetesObject, owner: Controller): Controller {
    const { kind, name } = owner;
    if (kind !== "ReplicaSet" || controlledWorkload({ name: pod, labels }, owner).kind !== kind) return owner;
    const isThere = (this.#workloads.get(namespace!) ?? []).some(
      (each) => each.kind === kind && each.metadata.name === name,
    );
    const stem = name.slice(0, Math.max(0, name.lastIndexOf("-")));
    return isThere || stem === "" ? owner : { kind: "Deployment", name: stem };
  }

  /** Finds the controller by selector, else by a label with the workload's name. */
  #selecting({ metadata: { namespace, labels = {} } }: KubernetesObject): Controller | null {
    const workloads = this.#workloads.get(namespace!) ?? [];
    const found =
      workloads.find(({ spec }) => isSelectedBy(labels, spec)) ??
      [APP_GROUP_LABELS.selector, "app.kubernetes.io/name", "app"]
        .map((key) =>
          workloads.find(({ metadata, spec }) => metadata.name === labels[key] && isOfOneGroup(labels, spec)),
        )
        .find((workload) => workload !== undefined);
    return found === undefined ? null : { kind: found.kind, name: found.metadata.name };
  }
}

function isSelectedBy(labels: Labels, spec: unknown): boolean {
  const { matchLabels } = looseFields<LabelSelector>(looseFields<DeploymentSpec>(spec).selector);
  const wanted = texts(matchLabels);
  return Object.keys(wanted).length > 0 && matchesLabels(wanted, labels);
}

/** Returns false if the pod and the template name different AppGroups, or different workloads of one. */
function isOfOneGroup(labels: Labels, spec: unknown): boolean {
  const template = templateLabels(spec);
  return Object.values(APP_GROUP_LABELS).every(
    (label) => template[label] === undefined || template[label] === labels[label],
  );
}

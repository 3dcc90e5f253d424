// Pods of a dump, and which workload each one is a replica of.
import { addedAmount, APP_GROUP_LABELS, appGroupLabels, AppGroupMembers } from "@isochrone/topology";
import { looseFields, looseList, parseBytes, parseMillicores } from "@isochrone/primitives";
import { controlledWorkload } from "@isochrone/primitives/workload-name";
import type {
  Container,
  DeploymentSpec,
  LabelSelector,
  ObjectMeta,
  OwnerReference,
  PodTemplate,
  PodSpec,
  PodStatus,
} from "@isochrone/kubernetes";
import type { ResourceAmounts } from "@isochrone/placement";
import { textOf } from "./read-objects.ts";
import type { DumpObject, Json } from "./read-objects.ts";

/** Kinds whose pods are replicas. */
export const WORKLOAD_KINDS: ReadonlySet<string> = new Set([
  "Deployment",
  "StatefulSet",
  "DaemonSet",
  "Job",
  "ReplicaSet",
]);

/** True for a pod that runs or will run. */
export function isLive({ json }: DumpObject): boolean {
  const phase = looseFields<PodStatus>(json.status).phase;
  const leaving = looseFields<ObjectMeta>(json.metadata).deletionTimestamp !== undefined;
  return phase !== "Succeeded" && phase !== "Failed" && !leaving;
}

/** The node that it was bound to; null before. */
export function nodeOf({ json }: DumpObject): string | null {
  return textOf(looseFields<PodSpec>(json.spec).nodeName);
}

/** The sum of its containers' requests; null where none says. */
export function requestsOf({ json }: DumpObject): ResourceAmounts {
  let cpuMillicores: number | null = null;
  let memoryBytes: number | null = null;
  for (const container of looseList<Container>(looseFields<PodSpec>(json.spec).containers)) {
    const { requests } = looseFields<NonNullable<Container["resources"]>>(container.resources);
    const { cpu, memory } = looseFields(requests);
    cpuMillicores = addedAmount(cpuMillicores, parseMillicores(cpu));
    memoryBytes = addedAmount(memoryBytes, parseBytes(memory));
  }
  return { cpuMillicores, memoryBytes };
}

/** Finds the workload of a pod: by its owners, else by selector or label, else it is bare. */
export class WorkloadIndex {
  /** Who carries the labels of which AppGroup. */
  readonly members: AppGroupMembers;
  readonly #workloads: readonly DumpObject[];
  readonly #owners = new Map<string, DumpObject>();

  /** @param objects with the pod that is scored */
  constructor(objects: readonly DumpObject[]) {
    this.#workloads = objects.filter(({ kind }) => WORKLOAD_KINDS.has(kind));
    for (const object of this.#workloads)
      this.#owners.set(`${object.kind}/${object.namespace}/${object.name}`, object);
    const pods = objects.filter((object) => object.kind === "Pod" && isLive(object));
    const found = pods.map((pod) => {
      const controlled = this.#controlled(pod);
      const place = appGroupLabels(labelsOf(pod));
      return {
        namespace: pod.namespace,
        name: controlled?.name ?? pod.name,
        place,
        isBare: controlled === null,
      };
    });
    // A ReplicaSet says the same as its Deployment, under another name.
    const templates = this.#workloads.map(({ kind, namespace, name, json }) => ({
      namespace,
      name,
      place: kind === "ReplicaSet" ? null : appGroupLabels(templateLabels(json)),
      isBare: false,
    }));
    const groups = objects.filter(({ kind }) => kind === "AppGroup");
    // As in the aggregator: without AppGroups labels say nothing.
    const labelled = groups.length === 0 ? [] : [...templates, ...found];
    this.members = new AppGroupMembers({
      members: labelled.flatMap(({ namespace, name, place, isBare }) =>
        place === null ? [] : [{ namespace, ...place, workload: name, isBare }],
      ),
      groups,
      workloads: [...templates, ...found.filter(({ place, isBare }) => place === null || !isBare)],
    });
  }

  /** Bare pods of one workload of an AppGroup are one workload here, too. */
  workloadOf(pod: DumpObject): { readonly name: string; readonly kind: string } {
    const controlled = this.#controlled(pod);
    if (controlled !== null) return controlled;
    const { namespace, name } = pod;
    const place = appGroupLabels(labelsOf(pod));
    if (place === null) return { name, kind: "Pod" };
    const member = { namespace, ...place, workload: name, isBare: true };
    return { name: this.members.workloadOf(member), kind: "Pod" };
  }

  #controlled(pod: DumpObject): { name: string; kind: string } | null {
    return this.#byOwner(pod) ?? this.#bySelector(pod) ?? this.#byLabel(pod);
  }

  #byOwner(object: DumpObject): { name: string; kind: string } | null {
    const references = looseList<OwnerReference>(
      looseFields<ObjectMeta>(object.json.metadata).ownerReferences,
    );
    const reference = references.find((candidate) => candidate.controller === true) ?? references[0];
    const name = textOf(reference?.name);
    const kind = textOf(reference?.kind);
    if (name === null || kind === null) return null;
    const workload = controlledWorkload({ name: object.name, labels: labelsOf(object) }, { kind, name });
    if (kind === "ReplicaSet") return this.#byReplicaSet(object.namespace, name, workload);
    return workload.kind === "Pod" ? null : workload;
  }

  /** @param workload what the pod's labels say */
  #byReplicaSet(
    namespace: string,
    name: string,
    workload: { readonly kind: string; readonly name: string },
  ): { name: string; kind: string } | null {
    const replicaSet = this.#owners.get(`ReplicaSet/${namespace}/${name}`);
    const above = replicaSet === undefined ? null : this.#byOwner(replicaSet);
    if (above !== null) return above;
    if (replicaSet === undefined && workload.kind !== "ReplicaSet") return workload;
    // A Deployment names its ReplicaSets after itself, with a hash behind a dash.
    const stem = name.slice(0, Math.max(0, name.lastIndexOf("-")));
    const isDeployment = this.#owners.has(`Deployment/${namespace}/${stem}`);
    return isDeployment || (replicaSet === undefined && stem !== "")
      ? { name: stem, kind: "Deployment" }
      : { name, kind: "ReplicaSet" };
  }

  #bySelector(pod: DumpObject): { name: string; kind: string } | null {
    const labels = labelsOf(pod);
    const found = this.#workloads.find((workload) => {
      const wanted = Object.entries(
        looseFields(
          looseFields<LabelSelector>(looseFields<DeploymentSpec>(workload.json.spec).selector).matchLabels,
        ),
      );
      return (
        workload.namespace === pod.namespace &&
        wanted.length > 0 &&
        wanted.every(([key, value]) => labels[key] === value)
      );
    });
    return found === undefined ? null : { name: found.name, kind: found.kind };
  }

  #byLabel(pod: DumpObject): { name: string; kind: string } | null {
    const labels = labelsOf(pod);
    for (const key of [APP_GROUP_LABELS.selector, "app.kubernetes.io/name", "app"]) {
      const found = this.#workloads.find(
        (workload) =>
          workload.namespace === pod.namespace &&
          workload.name === labels[key] &&
          isOfOneGroup(labels, templateLabels(workload.json)),
      );
      if (found !== undefined) return { name: found.name, kind: found.kind };
    }
    return null;
  }
}

/** Whether both don't say that they are of two AppGroups, or of two workloads of one. */
function isOfOneGroup(pod: Json, template: Json): boolean {
  return Object.values(APP_GROUP_LABELS).every(
    (label) => template[label] === undefined || template[label] === pod[label],
  );
}

function templateLabels(json: DumpObject["json"]): Json {
  return looseFields(
    looseFields<ObjectMeta>(
      looseFields<PodTemplate>(looseFields<DeploymentSpec>(json.spec).template).metadata,
    ).labels,
  );
}

export function labelsOf({ json }: DumpObject): Json {
  return looseFields(looseFields<ObjectMeta>(json.metadata).labels);
}

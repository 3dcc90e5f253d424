// Pods of a dump, and which workload each one is a replica of.
import { addedAmount, parseMillicores, parseQuantity } from "@isochrone/topology";
import type { ResourceAmounts } from "@isochrone/placement";
import { listOf, recordOf, textOf } from "./read-objects.ts";
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
  const phase = recordOf(json["status"])["phase"];
  const leaving = recordOf(json["metadata"])["deletionTimestamp"] !== undefined;
  return phase !== "Succeeded" && phase !== "Failed" && !leaving;
}

const SELECTOR_LABEL = "appgroup.diktyo.x-k8s.io.workload";

/** The selector by which AppGroups know its workload; null without the label. */
export function appGroupSelectorOf(pod: DumpObject): string | null {
  return textOf(labelsOf(pod)[SELECTOR_LABEL]);
}

/** The node that it was bound to; null before. */
export function nodeOf({ json }: DumpObject): string | null {
  return textOf(recordOf(json["spec"])["nodeName"]);
}

/** The sum of its containers' requests; null where none says. */
export function requestsOf({ json }: DumpObject): ResourceAmounts {
  let cpuMillicores: number | null = null;
  let memoryBytes: number | null = null;
  for (const container of listOf(recordOf(json["spec"])["containers"]).map(recordOf)) {
    const requests = recordOf(recordOf(container["resources"])["requests"]);
    cpuMillicores = addedAmount(cpuMillicores, parseMillicores(requests["cpu"]));
    memoryBytes = addedAmount(memoryBytes, parseQuantity(requests["memory"]));
  }
  return { cpuMillicores, memoryBytes };
}

/** Finds the workload of a pod: by its owners, else by selector or label, else the pod is its own. */
export class WorkloadIndex {
  readonly #workloads: readonly DumpObject[];
  readonly #owners = new Map<string, DumpObject>();
  /** `namespace/selector` of the AppGroups' workloads. */
  readonly #selectors = new Set<string>();

  constructor(objects: readonly DumpObject[]) {
    this.#workloads = objects.filter(({ kind }) => WORKLOAD_KINDS.has(kind));
    for (const object of this.#workloads)
      this.#owners.set(`${object.kind}/${object.namespace}/${object.name}`, object);
    for (const group of objects.filter(({ kind }) => kind === "AppGroup")) {
      for (const entry of listOf(recordOf(group.json["spec"])["workloads"]).map(recordOf)) {
        const selector = textOf(recordOf(entry["workload"])["selector"]);
        if (selector !== null) this.#selectors.add(`${group.namespace}/${selector}`);
      }
    }
  }

  workloadOf(pod: DumpObject): { readonly name: string; readonly kind: string } {
    return (
      this.#byOwner(pod) ?? this.#bySelector(pod) ?? this.#byLabel(pod) ?? { name: pod.name, kind: "Pod" }
    );
  }

  #byOwner(object: DumpObject): { name: string; kind: string } | null {
    const references = listOf(recordOf(object.json["metadata"])["ownerReferences"]).map(recordOf);
    const reference = references.find((candidate) => candidate["controller"] === true) ?? references[0];
    const name = textOf(reference?.["name"]);
    const kind = textOf(reference?.["kind"]);
    if (name === null || kind === null) return null;
    if (kind !== "ReplicaSet") return { name, kind };
    const replicaSet = this.#owners.get(`ReplicaSet/${object.namespace}/${name}`);
    const deployment = replicaSet === undefined ? null : this.#byOwner(replicaSet);
    if (deployment !== null) return deployment;
    // A Deployment names its ReplicaSets after itself, with a hash behind a dash.
    const stem = name.slice(0, Math.max(0, name.lastIndexOf("-")));
    if (this.#owners.has(`Deployment/${object.namespace}/${stem}`)) return { name: stem, kind: "Deployment" };
    return replicaSet === undefined && stem !== "" ? { name: stem, kind: "Deployment" } : { name, kind };
  }

  #bySelector(pod: DumpObject): { name: string; kind: string } | null {
    const labels = labelsOf(pod);
    const found = this.#workloads.find((workload) => {
      const wanted = Object.entries(
        recordOf(recordOf(recordOf(workload.json["spec"])["selector"])["matchLabels"]),
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
    for (const key of [SELECTOR_LABEL, "app.kubernetes.io/name", "app"]) {
      const found = this.#workloads.find(
        ({ namespace, name }) => namespace === pod.namespace && name === labels[key],
      );
      if (found !== undefined) return { name: found.name, kind: found.kind };
    }
    // Bare pods of an AppGroup: its workload is all that says they belong together.
    const selector = appGroupSelectorOf(pod);
    if (selector !== null && this.#selectors.has(`${pod.namespace}/${selector}`))
      return { name: selector, kind: "Unknown" };
    return null;
  }
}

function labelsOf({ json }: DumpObject): Json {
  return recordOf(recordOf(json["metadata"])["labels"]);
}

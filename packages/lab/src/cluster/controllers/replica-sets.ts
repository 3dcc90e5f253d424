import { conditionsOf, isStoreError, KINDS, matchesSelector, podView } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject, OwnerReference } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { Logger, Random } from "@isochrone/runtime";
import { MutatingAdmission } from "../admission.ts";
import { randomSuffix } from "./names.ts";

interface ReplicaSetsOptions {
  readonly store: ClusterStore;
  readonly random: Random;
  readonly logger: Logger;
}

interface ReplicaSetSpec {
  readonly selector?: unknown;
  readonly template: { metadata?: Record<string, unknown>; spec?: Record<string, unknown> };
}

const DELETION_COST = "controller.kubernetes.io/pod-deletion-cost";

export class ReplicaSets {
  readonly #store: ClusterStore;
  readonly #random: Random;
  readonly #admission: MutatingAdmission;

  constructor(options: ReplicaSetsOptions) {
    this.#store = options.store;
    this.#random = options.random;
    this.#admission = new MutatingAdmission(options);
  }

  async reconcile(replicaSet: KubernetesObject, pods: readonly KubernetesObject[]): Promise<void> {
    const present = (await this.#claim(replicaSet, pods)).filter((pod) => !podView(pod).terminating);
    for (const pod of present) if (podView(pod).finished) await this.#delete(pod);
    const active = present.filter((pod) => !podView(pod).finished);
    const missing = replicasOf(replicaSet) - active.length;
    for (let created = 0; created < missing; created++)
      await this.#store.create(await this.#admission.admit(newPod(replicaSet, randomSuffix(this.#random))));
    for (const pod of deletionOrder(active).slice(0, Math.max(0, -missing))) await this.#delete(pod);
    const ready = active.filter((pod) => podView(pod).ready).length;
    await this.patchStatus(replicaSet, {
      replicas: active.length,
      readyReplicas: ready,
      availableReplicas: ready,
    });
  }

  async patchStatus(object: KubernetesObject, status: Record<string, number>): Promise<void> {
    const same = Object.entries(status).every(([key, value]) => object.status?.[key] === value);
    if (same) return;
    await this.#store.patch(refOf(object), { status }, { subresource: "status" }).catch(ignoreNotFound);
  }

  /** Pods of this ReplicaSet, after adopting orphans and releasing others. */
  async #claim(replicaSet: KubernetesObject, pods: readonly KubernetesObject[]): Promise<KubernetesObject[]> {
    const { uid, namespace = "default" } = replicaSet.metadata;
    const claimed: KubernetesObject[] = [];
    for (const pod of pods.filter(({ metadata }) => (metadata.namespace ?? "default") === namespace)) {
      const { ownerReferences = [] } = pod.metadata;
      const controller = ownerReferences.find((owner) => owner.controller === true);
      const isAdopted = controller === undefined && !podView(pod).terminating;
      if (isAdopted ? !isSelected(pod, replicaSet, false) : controller?.uid !== uid) continue;
      if (isSelected(pod, replicaSet, true)) claimed.push(pod);
      const owners = ownerReferences.filter((owner) => owner.uid !== uid);
      if (isAdopted) await this.#setOwners(pod, [...owners, ownerReference(replicaSet)]);
      else if (!isSelected(pod, replicaSet, true)) await this.#setOwners(pod, owners);
    }
    return claimed;
  }

  async #setOwners(pod: KubernetesObject, ownerReferences: readonly OwnerReference[]): Promise<void> {
    const { uid, resourceVersion } = pod.metadata;
    const metadata = { ownerReferences: [...ownerReferences], uid, resourceVersion };
    await this.#store.patch(refOf(pod), { metadata }).catch(ignoreNotFound);
  }

  async #delete(pod: KubernetesObject): Promise<void> {
    await this.#store.delete(refOf(pod)).catch(ignoreNotFound);
  }
}

function isSelected(
  { metadata: { labels } }: KubernetesObject,
  { spec }: KubernetesObject,
  withoutSelector: boolean,
): boolean {
  const { selector } = looseFields<ReplicaSetSpec>(spec);
  return selector === undefined ? withoutSelector : matchesSelector(selector, labels);
}

export function deletionOrder(pods: readonly KubernetesObject[]): KubernetesObject[] {
  const onNode = Map.groupBy(pods, (pod) => podView(pod).node);
  const keysOf = (pod: KubernetesObject): readonly (number | string)[] => {
    const { node, phase, ready, annotations } = podView(pod);
    const readySince = conditionsOf(pod).find(({ type }) => type === "Ready")?.lastTransitionTime ?? "";
    return [
      node === null ? 0 : 1,
      phase === "Pending" ? 0 : 1,
      ready ? 1 : 0,
      Number(annotations[DELETION_COST] ?? 0),
      -(onNode.get(node)?.length ?? 0),
      -Date.parse(readySince) || 0,
      -Date.parse(pod.metadata.creationTimestamp ?? "") || 0,
    ];
  };
  return [...pods].sort((a, b) => {
    const [first, second] = [keysOf(a), keysOf(b)];
    const at = first.findIndex((key, index) => key !== second[index]);
    return at < 0 ? 0 : first[at]! < second[at]! ? -1 : 1;
  });
}

export function replicasOf(object: KubernetesObject): number {
  const { replicas } = looseFields<{ readonly replicas: number }>(object.spec);
  return typeof replicas === "number" ? replicas : 1;
}

export function refOf(object: KubernetesObject): {
  apiVersion: string;
  kind: string;
  namespace: string;
  name: string;
} {
  const { namespace = "default", name } = object.metadata;
  return { apiVersion: object.apiVersion, kind: object.kind, namespace, name };
}

export function ownerReference(owner: KubernetesObject): OwnerReference {
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid!,
    controller: true,
  };
}

function newPod(replicaSet: KubernetesObject, suffix: string): KubernetesObject {
  const { template } = structuredClone(replicaSet.spec) as unknown as ReplicaSetSpec;
  const { namespace = "default", name } = replicaSet.metadata;
  return {
    ...KINDS.pod,
    metadata: {
      ...template.metadata,
      name: `${name}-${suffix}`,
      namespace,
      ownerReferences: [ownerReference(replicaSet)],
    },
    spec: { schedulerName: "default-scheduler", ...template.spec },
    status: { phase: "Pending" },
  };
}

function ignoreNotFound(error: unknown): void {
  if (!isStoreError(error, "not_found")) throw error;
}

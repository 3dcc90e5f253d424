import { isStoreError, KINDS, podView } from "@isochrone/kubernetes";
import type { ClusterStore, Informer, KubernetesObject, OwnerReference } from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { MutatingAdmission } from "../admission.ts";
import { Reconciler } from "../reconciler.ts";
import { randomSuffix, templateHash } from "./names.ts";

interface Template {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
  spec?: Record<string, unknown>;
}

interface WorkloadSpec {
  replicas?: number;
  selector?: unknown;
  template: Template;
}

const specOf = (object: KubernetesObject): WorkloadSpec => object.spec as unknown as WorkloadSpec;
const replicasOf = (object: KubernetesObject): number => specOf(object).replicas ?? 1;

/**
 * Stand-in for the Deployment and ReplicaSet controllers. A changed template makes a new ReplicaSet at once
 * and takes the old one to zero (the `Recreate` strategy without its pause); there is no rolling update.
 */
export class DeploymentController {
  readonly #store: ClusterStore;
  readonly #random: Random;
  readonly #admission: MutatingAdmission;
  readonly #reconciler: Reconciler;

  constructor(options: {
    store: ClusterStore;
    informers: readonly Informer[];
    clock: Clock;
    random: Random;
    logger: Logger;
  }) {
    this.#store = options.store;
    this.#random = options.random;
    this.#admission = new MutatingAdmission(options);
    this.#reconciler = new Reconciler({
      name: "deployments",
      reconcile: () => this.#reconcile(),
      clock: options.clock,
      logger: options.logger,
    });
    for (const informer of options.informers) informer.onChange(() => this.#reconciler.trigger());
  }

  start(): void {
    this.#reconciler.start();
  }

  stop(): Promise<void> {
    return this.#reconciler.stop();
  }

  /** Reads the store itself, not the informers: its own writes of the previous run are then always seen. */
  async #reconcile(): Promise<void> {
    const deployments = (await this.#store.list(KINDS.deployment)).items;
    for (const deployment of deployments) await this.#reconcileDeployment(deployment);
    const replicaSets = (await this.#store.list(KINDS.replicaSet)).items;
    const pods = (await this.#store.list(KINDS.pod)).items;
    for (const replicaSet of replicaSets)
      await this.#reconcileReplicaSet(replicaSet, ownedBy(pods, replicaSet));
    for (const deployment of deployments)
      await this.#reportDeployment(deployment, ownedBy(replicaSets, deployment), pods);
  }

  async #reconcileDeployment(deployment: KubernetesObject): Promise<void> {
    const spec = specOf(deployment);
    const { namespace = "default", name } = deployment.metadata;
    const hash = templateHash(spec.template);
    const owned = ownedBy((await this.#store.list(KINDS.replicaSet, { namespace })).items, deployment);
    const current = owned.find(({ metadata }) => metadata.name === `${name}-${hash}`);
    if (current === undefined) await this.#store.create(newReplicaSet(deployment, hash));
    for (const replicaSet of owned) {
      const replicas = replicaSet === current ? replicasOf(deployment) : 0;
      if (replicasOf(replicaSet) !== replicas)
        await this.#store.patch(refOf(replicaSet), { spec: { replicas } });
    }
  }

  async #reconcileReplicaSet(replicaSet: KubernetesObject, pods: readonly KubernetesObject[]): Promise<void> {
    const present = pods.filter((pod) => !podView(pod).terminating);
    for (const pod of present) if (podView(pod).finished) await this.#delete(pod);
    const active = present.filter((pod) => !podView(pod).finished);
    const missing = replicasOf(replicaSet) - active.length;
    for (let created = 0; created < missing; created++)
      await this.#store.create(await this.#admission.admit(newPod(replicaSet, randomSuffix(this.#random))));
    // Unplaced and unready ones go first, as in Kubernetes.
    const surplus = [...active].sort((a, b) => rank(a) - rank(b)).slice(0, Math.max(0, -missing));
    for (const pod of surplus) await this.#delete(pod);
    const ready = active.filter((pod) => podView(pod).ready).length;
    await this.#patchStatus(replicaSet, {
      replicas: active.length,
      readyReplicas: ready,
      availableReplicas: ready,
    });
  }

  async #reportDeployment(
    deployment: KubernetesObject,
    replicaSets: readonly KubernetesObject[],
    pods: readonly KubernetesObject[],
  ): Promise<void> {
    const active = replicaSets
      .flatMap((replicaSet) => ownedBy(pods, replicaSet))
      .map(podView)
      .filter(({ terminating, finished }) => !terminating && !finished);
    const ready = active.filter((pod) => pod.ready).length;
    const { generation } = deployment.metadata;
    await this.#patchStatus(deployment, {
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      replicas: active.length,
      readyReplicas: ready,
      availableReplicas: ready,
      updatedReplicas: active.length,
      unavailableReplicas: Math.max(0, replicasOf(deployment) - ready),
    });
  }

  async #patchStatus(object: KubernetesObject, status: Record<string, number>): Promise<void> {
    const same = Object.entries(status).every(([key, value]) => object.status?.[key] === value);
    if (same) return;
    await this.#store.patch(refOf(object), { status }, { subresource: "status" }).catch(ignoreNotFound);
  }

  async #delete(pod: KubernetesObject): Promise<void> {
    await this.#store.delete(refOf(pod)).catch(ignoreNotFound);
  }
}

function rank(pod: KubernetesObject): number {
  const { node, ready } = podView(pod);
  return node === null ? 0 : ready ? 2 : 1;
}

function ownedBy(objects: readonly KubernetesObject[], owner: KubernetesObject): KubernetesObject[] {
  return objects.filter(
    ({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) === true,
  );
}

function refOf(object: KubernetesObject): {
  apiVersion: string;
  kind: string;
  namespace: string;
  name: string;
} {
  const { namespace = "default", name } = object.metadata;
  return { apiVersion: object.apiVersion, kind: object.kind, namespace, name };
}

function ownerReference(owner: KubernetesObject): OwnerReference {
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid!,
    controller: true,
  };
}

function newReplicaSet(deployment: KubernetesObject, hash: string): KubernetesObject {
  const { template, selector } = structuredClone(specOf(deployment));
  const { namespace = "default", name } = deployment.metadata;
  const labels = { ...template.metadata?.labels, "pod-template-hash": hash };
  return {
    ...KINDS.replicaSet,
    metadata: { name: `${name}-${hash}`, namespace, labels, ownerReferences: [ownerReference(deployment)] },
    spec: {
      replicas: replicasOf(deployment),
      selector,
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

function newPod(replicaSet: KubernetesObject, suffix: string): KubernetesObject {
  const { template } = structuredClone(specOf(replicaSet));
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

import { KINDS, podView, TEMPLATE_HASH_LABEL } from "@isochrone/kubernetes";
import type { ClusterStore, Informer, KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { Reconciler } from "../reconciler.ts";
import { templateHash } from "./names.ts";
import { ownerReference, refOf, ReplicaSets, replicasOf } from "./replica-sets.ts";
import { rolloutSizes } from "./rollout.ts";
import type { RolloutStrategy } from "./rollout.ts";

interface Template {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
  spec?: Record<string, unknown>;
}

interface DeploymentSpec {
  selector?: { matchLabels?: Record<string, string>; matchExpressions?: unknown[] };
  strategy?: RolloutStrategy;
  template: Template;
}

const specOf = (object: KubernetesObject): DeploymentSpec => object.spec as unknown as DeploymentSpec;

/**
 * Rolls out a changed template as Kubernetes does, by `RollingUpdate` or `Recreate`. Scaling during a rollout
 * only scales the newest ReplicaSet.
 */
export class DeploymentController {
  readonly #store: ClusterStore;
  readonly #replicaSets: ReplicaSets;
  readonly #reconciler: Reconciler;

  constructor(options: {
    store: ClusterStore;
    informers: readonly Informer[];
    clock: Clock;
    random: Random;
    logger: Logger;
  }) {
    this.#store = options.store;
    this.#replicaSets = new ReplicaSets(options);
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

  settled(): Promise<void> {
    return this.#reconciler.settled();
  }

  /** Reads the store, not the informers, so that it sees the previous run's writes. */
  async #reconcile(): Promise<void> {
    const deployments = (await this.#store.list(KINDS.deployment)).items;
    const before = (await this.#store.list(KINDS.pod)).items;
    for (const deployment of deployments) await this.#reconcileDeployment(deployment, before);
    const replicaSets = (await this.#store.list(KINDS.replicaSet)).items;
    const pods = (await this.#store.list(KINDS.pod)).items;
    for (const replicaSet of replicaSets) await this.#replicaSets.reconcile(replicaSet, pods);
    for (const deployment of deployments)
      await this.#reportDeployment(deployment, controlledBy(replicaSets, deployment), pods);
  }

  async #reconcileDeployment(deployment: KubernetesObject, pods: readonly KubernetesObject[]): Promise<void> {
    const { namespace = "default", name } = deployment.metadata;
    const hash = templateHash(specOf(deployment).template);
    const { items } = await this.#store.list(KINDS.replicaSet, { namespace });
    const owned = controlledBy(items, deployment);
    const isCurrent = ({ metadata }: KubernetesObject): boolean => metadata.name === `${name}-${hash}`;
    const sizes = rolloutSizes({
      replicas: replicasOf(deployment),
      strategy: specOf(deployment).strategy ?? {},
      current: sizeOf(owned.find(isCurrent), pods),
      old: owned.filter((replicaSet) => !isCurrent(replicaSet)).map((each) => sizeOf(each, pods)),
    });
    if (!owned.some(isCurrent)) await this.#store.create(newReplicaSet(deployment, hash, sizes.current));
    const old = owned.filter((replicaSet) => !isCurrent(replicaSet));
    await this.#scale(owned.find(isCurrent), sizes.current);
    for (const [index, replicaSet] of old.entries()) await this.#scale(replicaSet, sizes.old[index]!);
  }

  async #scale(replicaSet: KubernetesObject | undefined, replicas: number): Promise<void> {
    if (replicaSet !== undefined && replicasOf(replicaSet) !== replicas)
      await this.#store.patch(refOf(replicaSet), { spec: { replicas } });
  }

  async #reportDeployment(
    deployment: KubernetesObject,
    replicaSets: readonly KubernetesObject[],
    pods: readonly KubernetesObject[],
  ): Promise<void> {
    const hash = templateHash(specOf(deployment).template);
    const active = replicaSets.flatMap((replicaSet) => activeOf(replicaSet, pods));
    const ready = active.filter((pod) => podView(pod).ready).length;
    const { generation } = deployment.metadata;
    await this.#replicaSets.patchStatus(deployment, {
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      replicas: active.length,
      readyReplicas: ready,
      availableReplicas: ready,
      updatedReplicas: active.filter(({ metadata }) => metadata.labels?.[TEMPLATE_HASH_LABEL] === hash)
        .length,
      unavailableReplicas: Math.max(0, replicasOf(deployment) - ready),
    });
  }
}

function sizeOf(
  replicaSet: KubernetesObject | undefined,
  pods: readonly KubernetesObject[],
): { readonly wanted: number; readonly running: number; readonly ready: number } {
  if (replicaSet === undefined) return { wanted: 0, running: 0, ready: 0 };
  const { uid } = replicaSet.metadata;
  const owned = pods.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid));
  const ready = activeOf(replicaSet, pods).filter((pod) => podView(pod).ready).length;
  return { wanted: replicasOf(replicaSet), running: owned.length, ready };
}

function activeOf(replicaSet: KubernetesObject, pods: readonly KubernetesObject[]): KubernetesObject[] {
  return controlledBy(pods, replicaSet).filter((pod) => {
    const { terminating, finished } = podView(pod);
    return !terminating && !finished;
  });
}

function controlledBy(objects: readonly KubernetesObject[], owner: KubernetesObject): KubernetesObject[] {
  return objects.filter(({ metadata }) =>
    metadata.ownerReferences?.some(
      ({ controller, uid }) => controller === true && uid === owner.metadata.uid,
    ),
  );
}

function newReplicaSet(deployment: KubernetesObject, hash: string, replicas: number): KubernetesObject {
  const { template, selector } = structuredClone(specOf(deployment));
  const { namespace = "default", name } = deployment.metadata;
  const labels = { ...template.metadata?.labels, [TEMPLATE_HASH_LABEL]: hash };
  const matchLabels = { ...selector?.matchLabels, [TEMPLATE_HASH_LABEL]: hash };
  return {
    ...KINDS.replicaSet,
    metadata: { name: `${name}-${hash}`, namespace, labels, ownerReferences: [ownerReference(deployment)] },
    spec: {
      replicas,
      selector: { ...selector, matchLabels },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

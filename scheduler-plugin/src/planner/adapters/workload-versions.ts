// Maps ReplicaSets to versions of their Deployment, which replaces all but the newest.
import { createInformer, KINDS, moveOwnerOf } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { ClusterStore, Informer, InformerChange, KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";

export interface WorkloadVersion {
  readonly uid: string;
  readonly name: string;
  readonly hash: string;
  /** Increases with each rollout, including rollbacks; 0 if the controller sets none. */
  readonly revision: number;
  readonly hasReplicas: boolean;
  readonly createdAt: string;
}

interface WorkloadVersionsOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Called when a Deployment gets a new version after its first. */
  readonly onRollout: (deploymentUid: string) => void;
}

const REVISION = "deployment.kubernetes.io/revision";
const HASH = "pod-template-hash";

export class WorkloadVersions {
  readonly #onRollout: (deploymentUid: string) => void;
  readonly #informer: Informer;
  readonly #versions = new Map<string, readonly WorkloadVersion[]>();
  readonly #deployments = new Map<string, string>();

  constructor({ onRollout, ...around }: WorkloadVersionsOptions) {
    this.#onRollout = onRollout;
    this.#informer = createInformer({ ...around, kind: KINDS.replicaSet, trim: trimmedReplicaSet });
    this.#informer.onChange((change) => this.#take(change));
  }

  /** Before the first list no pod counts as old. */
  get isSynced(): boolean {
    return this.#informer.isSynced;
  }

  of(deploymentUid: string): readonly WorkloadVersion[] {
    return this.#versions.get(deploymentUid) ?? [];
  }

  deploymentOf(replicaSetUid: string): string | null {
    return this.#deployments.get(replicaSetUid) ?? null;
  }

  stop(): Promise<void> {
    return this.#informer.stop();
  }

  #take({ type, object }: InformerChange): void {
    const owner = moveOwnerOf(object);
    const { uid = "" } = object.metadata;
    if (owner === null || owner.kind !== KINDS.deployment.kind) return;
    const before = this.of(owner.uid);
    const others = before.filter((version) => version.uid !== uid);
    const versions = type === "deleted" ? others : [...others, versionOf(object)].toSorted(byAge);
    if (type === "deleted") this.#deployments.delete(uid);
    else this.#deployments.set(uid, owner.uid);
    if (versions.length === 0) this.#versions.delete(owner.uid);
    else this.#versions.set(owner.uid, versions);
    const [newest] = versions;
    // The initial list is unordered.
    if (this.isSynced && before.length > 0 && newest !== undefined && newest.uid !== before[0]!.uid)
      this.#onRollout(owner.uid);
  }
}

function trimmedReplicaSet({ apiVersion, kind, metadata, spec }: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp, ownerReferences } = metadata;
  const revision = metadata.annotations?.[REVISION];
  const hash = metadata.labels?.[HASH];
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
      ...(revision === undefined ? {} : { annotations: { [REVISION]: revision } }),
      ...(hash === undefined ? {} : { labels: { [HASH]: hash } }),
    },
    spec: { replicas: looseFields<Record<"replicas", unknown>>(spec).replicas },
  };
}

function versionOf({ metadata, spec }: KubernetesObject): WorkloadVersion {
  const revision = Number(metadata.annotations?.[REVISION] ?? 0);
  return {
    uid: metadata.uid ?? "",
    name: metadata.name,
    hash: metadata.labels?.[HASH] ?? "",
    revision: Number.isFinite(revision) ? revision : 0,
    hasReplicas: Number(looseFields<Record<"replicas", unknown>>(spec).replicas ?? 0) > 0,
    createdAt: metadata.creationTimestamp ?? "",
  };
}

/** Newest first; without revisions the version with replicas, then the younger. */
function byAge(a: WorkloadVersion, b: WorkloadVersion): number {
  if (a.revision !== b.revision) return b.revision - a.revision;
  if (a.hasReplicas !== b.hasReplicas) return a.hasReplicas ? -1 : 1;
  if (a.createdAt !== b.createdAt) return a.createdAt > b.createdAt ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

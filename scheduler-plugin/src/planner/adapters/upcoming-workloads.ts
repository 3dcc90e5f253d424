// Follows Deployments and StatefulSets: pods to be created, and pods being replaced.
import { createInformer, KINDS, moveOwnerOf } from "@isochrone/kubernetes";
import { looseList } from "@isochrone/primitives";
import type {
  ClusterStore,
  Informer,
  InformerChange,
  KindRef,
  KubernetesObject,
  OwnerReference,
  PodVolume,
} from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { identifyPod } from "../../domain/pod.ts";
import { trimmedWorkload, workloadState } from "./workload-state.ts";
import type { WorkloadState } from "./workload-state.ts";
import type { GatedPod } from "../gated-workflows.ts";
import { WorkloadVersions } from "./workload-versions.ts";
import type { WorkloadVersion } from "./workload-versions.ts";

interface UpcomingWorkloadsOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly maxPods: number;
}

export interface Replacing {
  readonly state: WorkloadState;
  /** UID of the controller of its newest pods: a ReplicaSet or the StatefulSet. */
  readonly newest: string;
  readonly older: readonly string[];
  /** All desired pods as the controller creates them; a StatefulSet's by ordinal. */
  readonly pods: () => readonly GatedPod[];
}

interface Known {
  readonly state: WorkloadState;
  readonly upcoming: readonly GatedPod[];
  /** Last step of its status, monotonic. */
  readonly progressMs: number;
}

/** Template hash for a ReplicaSet that doesn't exist yet; not a possible real hash. */
const HASH = "upcoming";
const REVISION_LABEL = "controller-revision-hash";
/** Default of `progressDeadlineSeconds`: a rollout without a step for longer has failed. */
const STUCK_MS = 600_000;

export class UpcomingWorkloads {
  readonly #maxPods: number;
  readonly #clock: Clock;
  readonly #informers: readonly Informer[];
  readonly #versions: WorkloadVersions;
  readonly #known = new Map<string, Known>();
  readonly #ofWorkflow = new Map<string, Set<string>>();
  readonly #beganMs = new Map<string, number>();
  /** Keyed by workload UID. Stable objects: callers cache by identity. */
  readonly #pods = new Map<string, { readonly version: string; readonly pods: readonly GatedPod[] }>();
  readonly #listeners = new Set<(workflow: string) => void>();

  constructor({ maxPods, ...around }: UpcomingWorkloadsOptions) {
    this.#maxPods = maxPods;
    this.#clock = around.clock;
    const follow = (kind: KindRef): Informer => createInformer({ ...around, kind, trim: trimmedWorkload });
    this.#versions = new WorkloadVersions({ ...around, onRollout: (uid) => this.#began(uid) });
    this.#informers = [follow(KINDS.deployment), follow(KINDS.statefulSet)];
    for (const informer of this.#informers) informer.onChange((change) => this.#take(change));
  }

  of(workflow: string): (readonly GatedPod[])[] {
    return this.#in(workflow).flatMap(({ upcoming }) => (upcoming.length === 0 ? [] : [upcoming]));
  }

  running(workflow: string): Replacing[] {
    return this.#in(workflow).flatMap(({ state }): Replacing[] => {
      if (state.isUpcoming || state.replicas > this.#maxPods) return [];
      if (!state.isDeployment)
        return [{ state, newest: state.uid, older: [], pods: () => this.#podsOf(state) }];
      const [newest, ...older] = this.#versions.of(state.uid);
      if (newest === undefined) return [];
      const pods = (): readonly GatedPod[] => this.#podsOf(state, newest);
      return [{ state, newest: newest.uid, older: older.map(({ uid }) => uid), pods }];
    });
  }

  isReplaced(pod: KubernetesObject): boolean {
    const owner = moveOwnerOf(pod);
    if (owner === null) return false;
    if (owner.kind === KINDS.statefulSet.kind) {
      const state = this.#replacing(owner.uid);
      const hash = pod.metadata.labels?.[REVISION_LABEL];
      if (state === null || state.revision === null || hash === undefined) return false;
      return hash !== state.revision && ordinalOf(pod.metadata.name) >= state.partition;
    }
    const deployment = this.#versions.deploymentOf(owner.uid);
    if (deployment === null || this.#replacing(deployment) === null) return false;
    const [newest] = this.#versions.of(deployment);
    return newest !== undefined && newest.uid !== owner.uid;
  }

  /** True if its workload began a rollout less than `withinMs` ago: others of its workflow may follow. */
  isFresh(pod: KubernetesObject, workflow: string, withinMs: number): boolean {
    const owner = moveOwnerOf(pod);
    if (owner === null || !this.#versions.isSynced) return false;
    if (owner.kind === KINDS.replicaSet.kind && this.#versions.deploymentOf(owner.uid) === null) {
      // Admission of a version's first pod may precede our watch event.
      const hash = pod.metadata.labels?.["pod-template-hash"] ?? "";
      if (hash === "" || !owner.name.endsWith(`-${hash}`)) return false;
      const name = owner.name.slice(0, -hash.length - 1);
      return this.#in(workflow).some(
        ({ state }) => state.isDeployment && state.name === name && this.#versions.of(state.uid).length > 0,
      );
    }
    const beganMs = this.#beganMs.get(workflow);
    return beganMs !== undefined && this.#clock.monotonic() - beganMs < withinMs;
  }

  onChange(listener: (workflow: string) => void): void {
    this.#listeners.add(listener);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#informers, this.#versions].map((each) => each.stop()));
  }

  #in(workflow: string): Known[] {
    return [...(this.#ofWorkflow.get(workflow) ?? [])].map((uid) => this.#known.get(uid)!);
  }

  #replacing(uid: string): WorkloadState | null {
    const known = this.#known.get(uid);
    if (known === undefined || !known.state.replaces) return null;
    return this.#clock.monotonic() - known.progressMs < STUCK_MS ? known.state : null;
  }

  #began(uid: string): void {
    const known = this.#known.get(uid);
    if (known === undefined) return;
    const nowMs = this.#clock.monotonic();
    this.#beganMs.set(known.state.workflow, nowMs);
    this.#known.set(uid, { ...known, progressMs: nowMs });
  }

  #podsOf(state: WorkloadState, newest?: WorkloadVersion): readonly GatedPod[] {
    const version = `${state.generation} ${newest?.uid ?? state.revision}`;
    const kept = this.#pods.get(state.uid);
    if (kept?.version === version) return kept.pods;
    const pods = podsOf(state, newest);
    this.#pods.set(state.uid, { version, pods });
    return pods;
  }

  #take({ type, object }: InformerChange): void {
    const { uid = "" } = object.metadata;
    const before = this.#known.get(uid);
    const state = type === "deleted" ? null : workloadState(object);
    if (before !== undefined && before.state.workflow !== state?.workflow) this.#forget(uid, before.state);
    if (state === null) return;
    const upcoming = this.#upcomingOf(state, before);
    this.#known.set(uid, { state, upcoming, progressMs: this.#progressMs(state, before) });
    const uids = this.#ofWorkflow.get(state.workflow) ?? new Set();
    this.#ofWorkflow.set(state.workflow, uids.add(uid));
    if (before !== undefined && before.state.revision !== state.revision) this.#began(uid);
    if (upcoming.length > 0 && upcoming !== before?.upcoming)
      for (const listener of this.#listeners) listener(state.workflow);
  }

  #upcomingOf(state: WorkloadState, before: Known | undefined): readonly GatedPod[] {
    if (!state.isUpcoming || state.claims.length > 0 || state.replicas > this.#maxPods) return [];
    const isSame = before !== undefined && before.state.generation === state.generation;
    return isSame && before.upcoming.length > 0 ? before.upcoming : podsOf(state);
  }

  #progressMs({ progress, generation }: WorkloadState, before: Known | undefined): number {
    const isSame = before?.state.progress === progress && before.state.generation === generation;
    return isSame ? before.progressMs : this.#clock.monotonic();
  }

  #forget(uid: string, { workflow }: WorkloadState): void {
    this.#known.delete(uid);
    this.#pods.delete(uid);
    const uids = this.#ofWorkflow.get(workflow);
    uids?.delete(uid);
    if (uids?.size !== 0) return;
    this.#ofWorkflow.delete(workflow);
    this.#beganMs.delete(workflow);
  }
}

export function ordinalOf(podName: string): number {
  const digits = /-(\d+)(?:~.*)?$/.exec(podName)?.[1];
  return digits === undefined ? -1 : Number(digits);
}

/** @param newest version of a Deployment; if absent, the one to come */
function podsOf(state: WorkloadState, newest?: WorkloadVersion): GatedPod[] {
  const { namespace, name, replicas, firstOrdinal, claims, podSpec, isDeployment } = state;
  const owner = ownerOf(state, newest);
  const labels = { ...state.labels, ...versionLabel(state, newest) };
  return Array.from({ length: replicas }, (_, index): GatedPod => {
    const podName = isDeployment ? `${name}~${index}` : `${name}-${firstOrdinal + index}`;
    const own = claims.map((claim) => ({
      name: claim,
      persistentVolumeClaim: { claimName: `${claim}-${podName}` },
    }));
    const volumes = [...looseList<PodVolume>(podSpec.volumes), ...own];
    const object = {
      ...KINDS.pod,
      metadata: { name: podName, namespace, labels, ownerReferences: [owner] },
      spec: { ...podSpec, ...(volumes.length === 0 ? {} : { volumes }) },
    };
    return { key: `${namespace}/${podName}`, identity: identifyPod(object), object, sinceMs: 0 };
  });
}

function ownerOf({ uid, name, isDeployment }: WorkloadState, newest?: WorkloadVersion): OwnerReference {
  if (!isDeployment) return { ...KINDS.statefulSet, name, uid, controller: true };
  return {
    ...KINDS.replicaSet,
    name: newest?.name ?? `${name}-${HASH}`,
    uid: newest?.uid ?? uid,
    controller: true,
  };
}

function versionLabel({ isDeployment, revision }: WorkloadState, newest?: WorkloadVersion): object {
  if (isDeployment) return { "pod-template-hash": newest?.hash ?? HASH };
  return revision === null ? {} : { [REVISION_LABEL]: revision };
}

// Workloads whose pods their controllers have not made yet: Deployments and StatefulSets that are new, or
// were scaled from zero.
import { createInformer, KINDS, templateLabels, withoutLastApplied } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type {
  ClusterStore,
  DeploymentSpec,
  Informer,
  InformerChange,
  KindRef,
  KubernetesObject,
  PodTemplate,
} from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { identifyPod } from "../../domain/pod.ts";
import type { GatedPod } from "../gated-workflows.ts";

interface UpcomingWorkloadsOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Workloads of more replicas are left out. */
  readonly maxPods: number;
}

interface Upcoming {
  /** namespace/workflow */
  readonly workflow: string;
  readonly generation: number | undefined;
  readonly pods: readonly GatedPod[];
}

/** Of the template, as no real one is called: that of a Deployment's ReplicaSet isn't known yet. */
const HASH = "upcoming";

export class UpcomingWorkloads {
  readonly #maxPods: number;
  readonly #informers: readonly Informer[];
  /** By the workload's uid. */
  readonly #upcoming = new Map<string, Upcoming>();
  readonly #listeners = new Set<(workflow: string) => void>();

  /** Begins at once. */
  constructor({ maxPods, ...around }: UpcomingWorkloadsOptions) {
    this.#maxPods = maxPods;
    const follow = (kind: KindRef): Informer => createInformer({ ...around, kind, trim: trimmedWorkload });
    this.#informers = [follow(KINDS.deployment), follow(KINDS.statefulSet)];
    for (const informer of this.#informers) informer.onChange((change) => this.#take(change));
  }

  /** Pods as their controllers will make them, by workload. @param workflow namespace/workflow */
  of(workflow: string): (readonly GatedPod[])[] {
    return [...this.#upcoming.values()].flatMap((each) => (each.workflow === workflow ? [each.pods] : []));
  }

  /** Hears of workflows that have a new or changed workload without pods. */
  onChange(listener: (workflow: string) => void): void {
    this.#listeners.add(listener);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#informers.map((informer) => informer.stop()));
  }

  #take({ type, object }: InformerChange): void {
    const { uid = "", generation } = object.metadata;
    const pods = type === "deleted" ? [] : podsOf(object, this.#maxPods);
    const [first] = pods;
    if (first === undefined) return void this.#upcoming.delete(uid);
    const before = this.#upcoming.get(uid);
    if (before !== undefined && before.generation === generation) return;
    const workflow = `${first.identity.namespace}/${first.identity.workflow}`;
    this.#upcoming.set(uid, { workflow, generation, pods });
    for (const listener of this.#listeners) listener(workflow);
  }
}

/** Templates are kept of those alone that have no pods. */
function trimmedWorkload({ apiVersion, kind, metadata, ...object }: KubernetesObject): KubernetesObject {
  const { replicas, template, paused, volumeClaimTemplates } = looseFields<
    DeploymentSpec & { volumeClaimTemplates: unknown }
  >(object.spec);
  const made = looseFields<{ replicas: unknown }>(object.status).replicas ?? 0;
  const isUpcoming = made === 0 && paused !== true && volumeClaimTemplates === undefined;
  return {
    apiVersion,
    kind,
    metadata: withoutLastApplied(metadata),
    spec: isUpcoming ? { replicas, template } : {},
  };
}

function podsOf({ kind, metadata, spec }: KubernetesObject, maxPods: number): GatedPod[] {
  const { replicas, template } = looseFields<DeploymentSpec>(spec);
  if (typeof replicas !== "number" || template === undefined || replicas > maxPods) return [];
  const { spec: ofPods } = looseFields<PodTemplate>(template);
  const { name, namespace = "default", uid = "" } = metadata;
  const isDeployment = kind === KINDS.deployment.kind;
  const owner = isDeployment
    ? { ...KINDS.replicaSet, name: `${name}-${HASH}`, uid, controller: true }
    : { ...KINDS.statefulSet, name, uid, controller: true };
  const labels = { ...templateLabels(spec), ...(isDeployment ? { "pod-template-hash": HASH } : {}) };
  return Array.from({ length: replicas }, (_, index): GatedPod => {
    const object = {
      ...KINDS.pod,
      metadata: {
        name: `${name}~${index}`,
        namespace,
        labels,
        ownerReferences: [owner],
      },
      spec: { ...looseFields(ofPods) },
    };
    return { key: `${namespace}/${object.metadata.name}`, identity: identifyPod(object), object, sinceMs: 0 };
  });
}

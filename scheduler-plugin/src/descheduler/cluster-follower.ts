// The objects that moves need: controllers, followed while this replica leads, and the shared watches.
import { createInformer, KINDS, readMoveRecords, withoutLastApplied } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type {
  ClusterStore,
  Informer,
  InformerChange,
  KindRef,
  KubernetesObject,
  DeploymentSpec,
  ObjectMeta,
  PodSpec,
  PodTemplate,
} from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import type { ClusterObjects, FollowedObjects } from "../adapters/cluster-objects.ts";
import type { ClusterPods } from "../adapters/cluster-pods.ts";
import type { ClusterLists } from "./decision/survey.ts";

interface ClusterFollowerOptions {
  readonly store: ClusterStore;
  readonly pods: Pick<ClusterPods, "isSynced" | "items">;
  readonly objects: ClusterObjects;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class ClusterFollower {
  readonly #pods: ClusterFollowerOptions["pods"];
  readonly #objects: FollowedObjects;
  readonly #controllers: Readonly<Record<"replicaSets" | "deployments" | "statefulSets", Informer>>;
  readonly #clock: Clock;
  /** Deadline of the last open move by controller UID, wall-clock ms. */
  readonly #movingUntilMs = new Map<string, number>();
  #hasControllers = false;

  constructor({ pods, objects, ...around }: ClusterFollowerOptions) {
    this.#pods = pods;
    this.#clock = around.clock;
    this.#objects = objects.follow(() => undefined);
    const follow = (kind: KindRef): Informer => createInformer({ ...around, kind, trim: trimmedController });
    this.#controllers = {
      replicaSets: follow(KINDS.replicaSet),
      deployments: follow(KINDS.deployment),
      statefulSets: follow(KINDS.statefulSet),
    };
    for (const informer of [this.#controllers.replicaSets, this.#controllers.statefulSets])
      informer.onChange((change) => this.#note(change));
    Promise.all(Object.values(this.#controllers).map((informer) => informer.synced())).then(
      () => (this.#hasControllers = true),
      () => undefined,
    );
  }

  get isSynced(): boolean {
    return this.#pods.isSynced && this.#objects.isSynced && this.#hasControllers;
  }

  /** True while a controller's annotation shows a move, or not all controllers are listed. No request. */
  mayBeMoving(controllerUid: string): boolean {
    if (!this.#hasControllers) return true;
    return (this.#movingUntilMs.get(controllerUid) ?? -Infinity) > this.#clock.monotonic();
  }

  #note({ type, object }: InformerChange): void {
    const { uid = "" } = object.metadata;
    const open = type === "deleted" ? [] : readMoveRecords(object, this.#clock.now());
    if (open.length === 0) this.#movingUntilMs.delete(uid);
    else {
      const leftMs = Math.max(...open.map(({ deadlineMs }) => deadlineMs)) - this.#clock.now();
      this.#movingUntilMs.set(uid, this.#clock.monotonic() + leftMs);
    }
  }

  lists(): ClusterLists {
    const { replicaSets, deployments, statefulSets } = this.#controllers;
    return {
      ...this.#objects.lists(),
      pods: this.#pods.items(),
      replicaSets: replicaSets.items(),
      deployments: deployments.items(),
      statefulSets: statefulSets.items(),
    };
  }

  async stop(): Promise<void> {
    const informers = Object.values(this.#controllers);
    await Promise.all([this.#objects.stop(), ...informers.map((informer) => informer.stop())]);
  }
}

function trimmedController({
  apiVersion,
  kind,
  metadata,
  spec = {},
  status,
}: KubernetesObject): KubernetesObject {
  const template = looseFields<PodTemplate>(looseFields<DeploymentSpec>(spec).template);
  const { schedulingGates, schedulerName, priorityClassName, nodeName } = looseFields<PodSpec>(template.spec);
  return {
    apiVersion,
    kind,
    metadata: withoutLastApplied(metadata),
    spec: {
      replicas: looseFields<DeploymentSpec>(spec).replicas,
      ...(spec.strategy === undefined ? {} : { strategy: spec.strategy }),
      template: {
        metadata: { labels: looseFields<ObjectMeta>(template.metadata).labels },
        spec: { schedulingGates, schedulerName, priorityClassName, nodeName },
      },
    },
    ...(status === undefined ? {} : { status }),
  };
}

// Pods of namespaces with opted-in Services. Other namespaces aren't followed.
import { createInformer, KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, Informer, KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import type { PodView } from "../domain/pods.ts";
import { keptOfPod, podOf } from "./objects.ts";

interface PodTableOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Called with the pod before and after a change; null if it didn't or doesn't exist. */
  readonly onChange: (namespace: string, before: PodView | null, after: PodView | null) => void;
}

interface FollowedNamespace {
  readonly informer: Informer;
  readonly pods: Map<string, PodView>;
  users: number;
}

export class PodTable {
  readonly #options: PodTableOptions;
  readonly #namespaces = new Map<string, FollowedNamespace>();
  readonly #stopping = new Set<Promise<void>>();

  constructor(options: PodTableOptions) {
    this.#options = options;
  }

  /** Balance each call with `unfollow`. */
  follow(namespace: string): void {
    const followed = this.#namespaces.get(namespace);
    if (followed !== undefined) {
      followed.users++;
      return;
    }
    const informer: Informer = createInformer({
      ...this.#options,
      kind: KINDS.pod,
      namespace,
      trim: keptOfPod,
    });
    const pods = new Map<string, PodView>();
    this.#namespaces.set(namespace, { informer, pods, users: 1 });
    informer.onChange(({ type, object }) => this.#take(namespace, object, type === "deleted"));
  }

  unfollow(namespace: string): void {
    const followed = this.#namespaces.get(namespace);
    if (followed === undefined || --followed.users > 0) return;
    this.#namespaces.delete(namespace);
    const stopping: Promise<void> = followed.informer.stop().finally(() => this.#stopping.delete(stopping));
    this.#stopping.add(stopping);
  }

  get(namespace: string, name: string): PodView | null {
    return this.#namespaces.get(namespace)?.pods.get(name) ?? null;
  }

  get isSynced(): boolean {
    return this.#namespaces.values().every(({ informer }) => informer.isSynced);
  }

  async stop(): Promise<void> {
    const informers = [...this.#namespaces.values()].map(({ informer }) => informer);
    await Promise.all([...informers.map((informer) => informer.stop()), ...this.#stopping]);
  }

  #take(namespace: string, pod: KubernetesObject, isGone: boolean): void {
    const pods = this.#namespaces.get(namespace)?.pods;
    if (pods === undefined) return;
    const { name } = pod.metadata;
    const before = pods.get(name) ?? null;
    const after = isGone ? null : podOf(pod);
    if (after === null) pods.delete(name);
    else pods.set(name, after);
    // Most changes only affect conditions, which aren't used.
    if (JSON.stringify(before) !== JSON.stringify(after)) this.#options.onChange(namespace, before, after);
  }
}

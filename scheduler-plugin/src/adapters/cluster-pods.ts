// The cluster's pods, followed once for all parts of the scheduler-plugin: each of them would list and keep
// 100,000.
import { createInformer, KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, Informer, KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Logger, Random, Service } from "@isochrone/runtime";
import { trimmedPod } from "./observed-pod.ts";

export interface ClusterPodsOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** What is kept of each pod; at least what placing and AppGroups need. @default just that */
  readonly trim?: typeof trimmedPod;
}

/** What is heard of pods. */
export type PodChanges = Pick<Informer, "onChange" | "synced">;

/** To be started before everything that hears of pods, and stopped after it. */
export class ClusterPods implements Service, PodChanges {
  readonly #options: ClusterPodsOptions;
  #informer: Informer | null = null;

  constructor(options: ClusterPodsOptions) {
    this.#options = options;
  }

  /** Doesn't wait for the first list: an API server that is away must not keep the extender from starting. */
  start(): Promise<void> {
    this.#informer = createInformer({ trim: trimmedPod, ...this.#options, kind: KINDS.pod });
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.#informer?.stop();
  }

  /** Whether the pods were listed at least once. */
  get isSynced(): boolean {
    return this.#informer?.isSynced ?? false;
  }

  /** All that are known now. The objects are shared: never change them. */
  items(): readonly KubernetesObject[] {
    return this.#started().items();
  }

  /** The pod of that name; null: none is known. */
  get(namespace: string, name: string): KubernetesObject | null {
    return this.#started().get(name, namespace);
  }

  onChange(...args: Parameters<Informer["onChange"]>): () => void {
    return this.#started().onChange(...args);
  }

  async synced(signal?: AbortSignal): Promise<void> {
    await this.#started().synced(signal);
  }

  #started(): Informer {
    if (this.#informer === null) throw new Error("the pods aren't followed before the start");
    return this.#informer;
  }
}

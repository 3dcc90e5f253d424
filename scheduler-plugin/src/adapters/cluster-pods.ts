// Follows the cluster's pods once for all parts of the scheduler-plugin: a copy per part would hold 100,000
// pods each.
import { createInformer, KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, Informer, KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Logger, Random, Service } from "@isochrone/runtime";
import { trimmedPod } from "./observed-pod.ts";

export interface ClusterPodsOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Selects the fields kept per pod; must keep at least those of `trimmedPod`. @default trimmedPod */
  readonly trim?: typeof trimmedPod;
}

export type PodChanges = Pick<Informer, "onChange" | "synced">;

/** Start before every consumer of pods, and stop after them. */
export class ClusterPods implements Service, PodChanges {
  readonly #options: ClusterPodsOptions;
  #informer: Informer | null = null;

  constructor(options: ClusterPodsOptions) {
    this.#options = options;
  }

  /** Doesn't wait for the first list: the extender must start without the API server. */
  start(): Promise<void> {
    this.#informer = createInformer({ trim: trimmedPod, ...this.#options, kind: KINDS.pod });
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.#informer?.stop();
  }

  get isSynced(): boolean {
    return this.#informer?.isSynced ?? false;
  }

  /** Returns all known pods. The objects are shared: never change them. */
  items(): readonly KubernetesObject[] {
    return this.#started().items();
  }

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

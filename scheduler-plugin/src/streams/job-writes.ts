// Creates missing pods of jobs, and deletes misplaced ones.
import { keyOf, StoreError } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import type { Logger } from "@isochrone/runtime";
import { isGone } from "../adapters/observed-pod.ts";
import type { ClusterModel } from "../planner/cluster-model.ts";
import type { Placement } from "./domain/placement.ts";
import { hasStreamGate, type JobPodWriter } from "./job-pods.ts";
import type { KnownJob } from "./known-jobs.ts";
import type { StreamMetrics } from "./metrics.ts";
import { podNameOf, taskPod } from "./task-pod.ts";

interface JobWritesOptions {
  readonly writer: JobPodWriter;
  readonly model: ClusterModel;
  readonly awaitRules: boolean;
  readonly logger: Logger;
  readonly metrics: StreamMetrics;
  readonly onRefused: (job: KnownJob, message: string) => void;
}

export interface BesidePod {
  readonly task: string;
  readonly node: string;
  /** Called on refusal; null: only keep the pod, don't create it. */
  readonly onRefused: ((message: string) => void) | null;
}

export class JobWrites {
  readonly #options: JobWritesOptions;
  /** Job UID by key of a created pod that isn't seen bound yet. */
  readonly #onTheirWay = new Map<string, string>();
  readonly #unseen = new Set<string>();

  constructor(options: JobWritesOptions) {
    this.#options = options;
  }

  podName(job: KnownJob, task: string, node: string): string {
    return podNameOf(job.object, task, node);
  }

  podKeys(job: KnownJob, placement: Placement | null): string[] {
    const { namespace = "default" } = job.object.metadata;
    return [...(placement?.hosts ?? [])].map(
      ([task, node]) => `${namespace}/${this.podName(job, task, node)}`,
    );
  }

  isOnItsWay(podKey: string): boolean {
    return this.#onTheirWay.has(podKey);
  }

  saw(pod: KubernetesObject): void {
    this.#unseen.delete(keyOf(pod));
  }

  keep(uids: ReadonlySet<string>): void {
    for (const [key, uid] of this.#onTheirWay) if (!uids.has(uid)) this.#forget(key);
  }

  /**
   * Never rejects.
   * @param besides a pod that stays or comes on a node outside the placement; null without one
   */
  async carryOut(
    job: KnownJob,
    placement: Placement | null,
    pods: ReadonlyMap<string, KubernetesObject>,
    besides: BesidePod | null,
  ): Promise<void> {
    const { onRefused } = this.#options;
    const wanted = new Set<string>();
    if (placement !== null && besides !== null) wanted.add(await this.#keepBeside(job, besides, pods));
    for (const [task, node] of placement?.hosts ?? []) {
      const name = this.podName(job, task, node);
      wanted.add(name);
      const pod = pods.get(name);
      if (pod === undefined) {
        if (!(await this.#create(job, task, node, (message) => onRefused(job, message)))) return;
      } else if (isGone(pod) && pod.metadata.deletionTimestamp === undefined) await this.delete(pod);
    }
    for (const [name, pod] of pods)
      if (!wanted.has(name) && pod.metadata.deletionTimestamp === undefined) await this.delete(pod);
  }

  async #keepBeside(
    job: KnownJob,
    { task, node, onRefused }: BesidePod,
    pods: ReadonlyMap<string, KubernetesObject>,
  ): Promise<string> {
    const name = this.podName(job, task, node);
    if (onRefused !== null && !pods.has(name)) await this.#create(job, task, node, onRefused);
    return name;
  }

  async delete(pod: KubernetesObject): Promise<void> {
    this.#forget(keyOf(pod));
    await this.#try("pod", () => this.#options.writer.delete(pod));
  }

  async openGates(pods: ReadonlyMap<string, KubernetesObject>): Promise<void> {
    for (const pod of pods.values())
      if (hasStreamGate(pod)) await this.#try("gate", () => this.#options.writer.openGate(pod));
  }

  /** Returns false if the API server refused the pod. */
  async #create(
    job: KnownJob,
    task: string,
    node: string,
    refused: (message: string) => void,
  ): Promise<boolean> {
    const { writer, model, awaitRules } = this.#options;
    const { object, definition, uid } = job;
    const pod = taskPod({ job: object, definition, task, node, isGated: awaitRules });
    const key = keyOf(pod);
    if (this.#unseen.has(key)) return true;
    this.#unseen.add(key);
    this.#onTheirWay.set(key, uid);
    model.assume(pod, node);
    const error = await this.#try("pod", () => writer.create(pod));
    if (error === null) return true;
    this.#forget(key);
    if (error.retryable || error.code === "conflict") return true;
    refused(`the API server refuses the pod of task ${task}: ${error.message}`);
    return false;
  }

  #forget(podKey: string): void {
    this.#unseen.delete(podKey);
    if (this.#onTheirWay.delete(podKey)) this.#options.model.withdraw(podKey);
  }

  async #try(write: "gate" | "pod", act: () => Promise<void>): Promise<StoreError | null> {
    const { logger, metrics } = this.#options;
    try {
      await act();
      return null;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      metrics.writeFailures.inc({ write, reason: error.code });
      logger.warnOnce(`streams:${write}`, "a pod of a stream job can't be written, trying again", { error });
      return error;
    }
  }
}

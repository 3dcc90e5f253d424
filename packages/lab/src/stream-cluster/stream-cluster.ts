// A cluster whose pods are stages of stream jobs: nodes, scheduler and kubelets over a store, and frames
// through a shaped network.
import {
  createInformer,
  gatesOf,
  isStoreError,
  keyOf,
  KINDS,
  podView,
  type ClusterStore,
  type Informer,
  type KubernetesObject,
} from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { nodeObject } from "../cluster/kubelet/node-object.ts";
import { podStatus } from "../cluster/kubelet/pod-status.ts";
import type { Site } from "../cluster/ports.ts";
import { Reconciler } from "../cluster/reconciler.ts";
import type { ShapedNetwork } from "../shaped/shaped-network.ts";
import { RunningStages, type StagedJob } from "../stages/stages.ts";
import { boundNode } from "./affinity.ts";

const JOB_LABEL = "isochrone.dev/stream-job";
const TASK_LABEL = "isochrone.dev/stream-task";

interface StreamSite extends Site {
  readonly labels: Readonly<Record<string, string>>;
}

interface StreamClusterOptions {
  readonly store: ClusterStore;
  readonly sites: readonly StreamSite[];
  readonly network: ShapedNetwork;
  /** Stages of a StreamJob with its tasks on these nodes; null while a task has no node. */
  readonly stagesOf: (job: KubernetesObject, hosts: ReadonlyMap<string, string>) => StagedJob<string> | null;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface Runner {
  readonly key: string;
  readonly stages: RunningStages<string>;
}

export class StreamCluster {
  readonly #options: StreamClusterOptions;
  readonly #pods: Informer;
  readonly #jobs: Informer;
  readonly #reconciler: Reconciler;
  readonly #runners = new Map<string, Runner>();

  static async start(options: StreamClusterOptions): Promise<StreamCluster> {
    const { store, sites, network, clock } = options;
    for (const site of sites) {
      const node = nodeObject(site, network.address(site.name), 0, clock.now());
      const labels = { ...node.metadata.labels, ...site.labels };
      await store.create({ ...node, metadata: { ...node.metadata, labels } });
    }
    const cluster = new StreamCluster(options);
    await Promise.all([cluster.#pods.synced(), cluster.#jobs.synced()]);
    cluster.#reconciler.start();
    return cluster;
  }

  private constructor(options: StreamClusterOptions) {
    const { store, clock, random, logger } = options;
    this.#options = options;
    const informed = { store, clock, random, logger };
    this.#pods = createInformer({ ...informed, kind: KINDS.pod });
    this.#jobs = createInformer({ ...informed, kind: KINDS.streamJob });
    this.#reconciler = new Reconciler({
      name: "stream pods",
      reconcile: () => this.#reconcile(),
      clock,
      logger,
    });
    this.#pods.onChange(() => this.#reconciler.trigger());
    this.#jobs.onChange(() => this.#reconciler.trigger());
  }

  /** Recent frames/s of each running job's last stage, by namespace/name. */
  framesPerSecond(seconds: number): ReadonlyMap<string, number> {
    return new Map(
      [...this.#runners].map(([key, { stages }]) => [key, stages.recentFramesPerSecond(seconds)]),
    );
  }

  async stop(): Promise<void> {
    await this.#reconciler.stop();
    for (const key of this.#runners.keys()) this.#end(key);
    await Promise.all([this.#pods.stop(), this.#jobs.stop()]);
  }

  async #reconcile(): Promise<void> {
    const hosts = new Map<string, Map<string, string>>();
    for (const pod of this.#pods.items()) {
      const { labels = {}, namespace = "default" } = pod.metadata;
      const byName = new Map(Object.entries(labels));
      const [job, task] = [byName.get(JOB_LABEL), byName.get(TASK_LABEL)];
      if (job === undefined || task === undefined) continue;
      const node = await this.#runPod(pod);
      if (node === null) continue;
      const key = `${namespace}/${job}`;
      hosts.set(key, (hosts.get(key) ?? new Map<string, string>()).set(task, node));
    }
    const jobs = new Map(this.#jobs.items().map((job) => [keyOf(job), job]));
    for (const key of this.#runners.keys()) if (!jobs.has(key)) this.#end(key);
    for (const [key, job] of jobs) this.#run(key, job, hosts.get(key) ?? new Map());
  }

  /** One step of scheduler and kubelet for the pod. Returns the node that it runs on. */
  async #runPod(pod: KubernetesObject): Promise<string | null> {
    const { store, clock, network } = this.#options;
    const { namespace = "default", name } = pod.metadata;
    const ref = { ...KINDS.pod, namespace, name };
    const { node, terminating, phase } = podView(pod);
    try {
      if (terminating) await store.delete(ref, { gracePeriodSeconds: 0 });
      else if (node === null) await this.#bind(pod);
      else if (phase === "Running") return node;
      else {
        const address = network.address(node);
        const report = { state: "running", address, hostAddress: address, restarts: 0 } as const;
        const status = podStatus(pod, { ...report, nowMs: clock.now(), containerId: name });
        await store.patch(ref, { status }, { subresource: "status" });
      }
    } catch (error) {
      if (!isStoreError(error, "not_found") && !isStoreError(error, "conflict")) throw error;
    }
    return null;
  }

  async #bind(pod: KubernetesObject): Promise<void> {
    const node = boundNode(pod);
    if (node === null || gatesOf(pod).length > 0) return;
    const { namespace = "default", name } = pod.metadata;
    await this.#options.store.bind({ namespace, name }, node);
  }

  #run(key: string, job: KubernetesObject, hosts: ReadonlyMap<string, string>): void {
    const staged = this.#options.stagesOf(job, hosts);
    const places = staged === null ? "" : JSON.stringify(staged);
    if (this.#runners.get(key)?.key === places) return;
    this.#end(key);
    if (staged === null) return;
    const stages = new RunningStages(this.#options.network, staged);
    stages.opened.catch((error: unknown) => {
      this.#options.logger.error("stages of a stream job not joined", { streamJob: key, error });
    });
    this.#runners.set(key, { key: places, stages });
  }

  #end(key: string): void {
    this.#runners.get(key)?.stages.stop();
    this.#runners.delete(key);
  }
}

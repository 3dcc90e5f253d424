import { createInformer, KINDS, podView, workloadOf } from "@isochrone/kubernetes";
import type { ClusterStore, Informer, KindRef, KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { looseFields } from "@isochrone/primitives";
import { endpointsOf } from "./controllers/endpoints.ts";
import { StandIn } from "./controllers/stand-in.ts";
import { NotReadyError } from "./errors.ts";
import { labPod } from "./lab-pod.ts";
import type { LabPod } from "./lab-pod.ts";
import { createObjects, removeObjects, untilPodsAreGone } from "./workflow-objects.ts";
import { Kubelet } from "./kubelet/kubelet.ts";
import type { ReceiverCount } from "./kubelet/ledger.ts";
import { listeningAddresses, TestRange } from "./kubelet/pod-addresses.ts";
import { RUNNER_DEFAULTS } from "./kubelet/pod-runner.ts";
import type { RunnerOptions } from "./kubelet/pod-runner.ts";
import type { CpuBudget } from "./kubelet/node-cpu.ts";
import { LoadGenerator, steadyLoad } from "./load/generator.ts";
import type { EndToEnd, LoadPlan, RawStretch } from "./load/protocol.ts";
import type { Behaviour, WorkflowManifest } from "./manifest/model.ts";
import { NO_REQUESTS } from "./load/results.ts";
import { CADVISOR_PATH } from "./names.ts";
import type { PodNetwork, Site, SocketAddress } from "./ports.ts";
import { rePlacePods } from "./re-place.ts";
import type { Move, RePlaceOptions } from "./re-place.ts";
import type { ExtenderConfig } from "./scheduler/extender.ts";
import type { Placement } from "./scheduler/scheduler.ts";
import { checkSites } from "./sites.ts";

/** What a cluster is made of. */
export interface LabClusterOptions {
  readonly store: ClusterStore;
  readonly network: PodNetwork;
  readonly sites: readonly Site[];
  /**
   * `stand-in`: the store is nobody else's; nodes are registered in it, and controller and scheduler are
   * ours. `real`: it is an API server whose controllers and scheduler act; its nodes stand for the sites, and
   * only the workflow's namespace is looked at.
   * @default "stand-in"
   */
  readonly controlPlane?: "stand-in" | "real";
  readonly manifest: WorkflowManifest;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Load on the entry service; 0 = none. @default 5 */
  readonly requestsPerSecond?: number;
  /** @default "score" */
  readonly placement?: Placement;
  /** Can be set later, too. */
  readonly extender?: ExtenderConfig;
  readonly pods?: Partial<RunnerOptions>;
  /** Holds the pods of each node to its CPU. @default they take what the machine gives */
  readonly cpuBudget?: CpuBudget;
  /** In place of `requestsPerSecond`. */
  readonly load?: LoadPlan;
  /** The node whose users send the requests, over the network. @default users are beside the entry */
  readonly usersAt?: string;
  /**
   * Each Service has an EndpointSlice, and requests go where its hints say, as kube-proxy sends them. Of a
   * stand-in alone.
   * @default false
   */
  readonly slices?: boolean;
  /**
   * Which of these endpoints gets a request: any, as kube-proxy chooses, or one after the other.
   * @default "random"
   */
  readonly choice?: "in-turn" | "random";
}

const POLL_MS = 25;

/** A whole cluster on one machine: nodes, controllers, scheduler, kubelets, pods as processes, and load. */
export class LabCluster {
  readonly #options: LabClusterOptions;
  readonly #kubelets: Kubelet[];
  readonly #controllers: StandIn | null;
  readonly #informers: Readonly<
    Record<"pods" | "services" | "nodes" | "deployments" | "replicaSets", Informer>
  > & { readonly slices?: Informer };
  readonly #stop = new AbortController();
  #load: LoadGenerator | null = null;
  #loadState: "waiting" | "settling" | "begun" = "waiting";
  #stopped: Promise<void> | null = null;
  #entryPushes = 0;

  private constructor(options: LabClusterOptions) {
    const { store, clock, random, logger } = options;
    this.#options = options;
    const isReal = options.controlPlane === "real";
    const within = isReal ? { namespace: options.manifest.namespace } : {};
    const informer = (kind: KindRef): Informer =>
      createInformer({ store, kind, clock, random, logger, ...(kind === KINDS.node ? {} : within) });
    this.#informers = {
      pods: informer(KINDS.pod),
      services: informer(KINDS.service),
      nodes: informer(KINDS.node),
      deployments: informer(KINDS.deployment),
      replicaSets: informer(KINDS.replicaSet),
      ...(options.slices === true && !isReal ? { slices: informer(KINDS.endpointSlice) } : {}),
    };
    this.#controllers = isReal ? null : new StandIn(options, this.#informers);
    const { pods, services, slices = null } = this.#informers;
    const onRestart = (pod: string): void =>
      logger.warn("container ended by itself, starting it again", { pod });
    const runner = { ...RUNNER_DEFAULTS, ...options.pods };
    this.#kubelets = options.sites.map(
      (site, index) =>
        new Kubelet({
          site,
          store,
          network: options.network,
          clock,
          random,
          logger: logger.child({ node: site.name }),
          pods,
          services,
          slices,
          choice: options.choice ?? "random",
          options: runner,
          registersNode: !isReal,
          addresses: isReal
            ? new TestRange(index, () => this.#informers.nodes.get(site.name))
            : listeningAddresses(options.network.nodeAddress(site.name)),
          cpuBudget: options.cpuBudget ?? null,
          onRestart,
        }),
    );
  }

  /**
   * Applies the manifest, registers the nodes and starts everything. Pods come up afterwards: see
   * `waitReady`. What fails, or is aborted, leaves nothing behind.
   */
  static async start(options: LabClusterOptions, signal?: AbortSignal): Promise<LabCluster> {
    checkSites(options.sites);
    let cluster: LabCluster | null = null;
    try {
      // Before the informers list: a pod must not start before its service is known.
      await createObjects(options, signal);
      cluster = new LabCluster(options);
      await cluster.#start(signal);
      return cluster;
    } catch (error) {
      await (cluster === null ? removeObjects(options) : cluster.stop());
      throw error;
    }
  }

  async #start(signal?: AbortSignal): Promise<void> {
    const {
      clock,
      network,
      usersAt,
      requestsPerSecond = 5,
      load = steadyLoad(requestsPerSecond),
    } = this.#options;
    await Promise.all(Object.values(this.#informers).map((informer) => informer.synced(signal)));
    for (const kubelet of this.#kubelets) await kubelet.start();
    signal?.throwIfAborted();
    this.#controllers?.start();
    if (this.#options.load !== undefined || requestsPerSecond > 0) {
      const commandOn = usersAt === undefined ? [] : (network.commandOn?.(usersAt) ?? []);
      this.#load = new LoadGenerator(load, clock, {
        commandOn,
        onRestart: (restarts) =>
          this.#options.logger.warn("load generator ended by itself and was started again", { restarts }),
      });
    }
    this.#informers.pods.onChange(() => this.#pushEntry());
    this.#pushEntry();
  }

  /** Waits until all pods of the workflow are ready. Throws NotReadyError naming Deployments that are not. */
  async waitReady(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const deadlineMs = clock.monotonic() + timeoutMs;
    for (;;) {
      const missing = this.#notReady();
      if (missing.length === 0) return;
      if (clock.monotonic() > deadlineMs)
        throw new NotReadyError(
          `every workload must be ready within ${timeoutMs} ms; not ready: ${missing.join(", ")}`,
          missing,
        );
      await clock.sleep(POLL_MS, signal);
    }
  }

  /** All pods, by name. */
  pods(): LabPod[] {
    return this.#informers.pods
      .items()
      .map((pod) => labPod(pod, this.#options.network))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /**
   * Requests that applications received, by their own counters: cumulative, pods that have ended included.
   */
  async receiverCounts(): Promise<ReceiverCount[]> {
    const totals = new Map<string, Map<string, number>>();
    await Promise.all(this.#kubelets.map((kubelet) => kubelet.addReceived(totals)));
    return [...totals].flatMap(([target, sources]) =>
      [...sources].map(([source, count]) => ({ source, target, count })),
    );
  }

  /** What the load generator measured at the entry over the last `lastMs`. */
  async endToEnd(options: { readonly lastMs: number }): Promise<EndToEnd> {
    if (this.#load === null) return NO_REQUESTS;
    return this.#load.report(options.lastMs);
  }

  /**
   * The sidecars' metrics pages by pod, as they say them themselves: also where this process can't reach
   * their addresses.
   */
  async sidecarPages(): Promise<ReadonlyMap<string, string>> {
    return new Map((await Promise.all(this.#kubelets.map((kubelet) => kubelet.sidecarPages()))).flat());
  }

  /** Users send so many times as rarely as at first. */
  setPace(factor: number): void {
    this.#load?.setPace(factor);
  }

  /**
   * Every single request of so much time from the end of the last stretch on; answered when all of them are.
   * One stretch at a time.
   */
  async stretch(durationMs: number): Promise<RawStretch> {
    return (await this.#load?.stretch(durationMs)) ?? { responseMs: [] };
  }

  /**
   * Work that pods of a node with a budget have been given, ms of one core, by pod; ended ones are not there.
   */
  workedMs(): ReadonlyMap<string, number> {
    const pods = this.#informers.pods.items();
    return new Map(
      pods.flatMap(({ metadata: { uid = "", name } }) =>
        this.#kubelets.flatMap((kubelet) => {
          const worked = kubelet.workedMs(uid);
          return worked === null || worked === 0 ? [] : [[name, worked] as const];
        }),
      ),
    );
  }

  /**
   * Changes what the running programs of a workload do; pods that come later behave as they say themselves.
   */
  setBehaviour(workload: string, behaviour: Behaviour): void {
    for (const kubelet of this.#kubelets) kubelet.setBehaviour(workload, behaviour);
  }

  /** Has pods of a node send the requests of a Service to a proxy there; null: to the Service again. */
  setProxy(node: string, service: string, address: SocketAddress | null): void {
    this.#kubelets.find((kubelet) => kubelet.node === node)?.setProxy(service, address);
  }

  /** A node dies with its kubelet and processes; the store is not told. */
  async killNode(node: string): Promise<void> {
    await this.#kubelets.find((kubelet) => kubelet.node === node)?.stop();
  }

  /** Where the node's kubelet serves its usage page; null: there is no such node. */
  usagePage(node: string): string | null {
    const kubelet = this.#kubelets.find((candidate) => candidate.node === node);
    if (kubelet === undefined) return null;
    const { host, port } = kubelet.address;
    return `http://${host}:${port}${CADVISOR_PATH}`;
  }

  /** Process ids of the cluster's children. */
  processes(): ReadonlyMap<string, number> {
    const pods = this.#kubelets.flatMap((kubelet) => [...kubelet.processes()]);
    const byUid = new Map(this.#informers.pods.items().map((pod) => [pod.metadata.uid, pod.metadata.name]));
    const named = pods.map(([uid, pid]) => [byUid.get(uid) ?? uid, pid] as const);
    return new Map(this.#load?.pid === undefined ? named : [...named, ["load", this.#load.pid]]);
  }

  /**
   * Has the scheduler ask an extender from now on, and place by score; null takes it away again. A real one
   * reads its own configuration.
   */
  setExtender(config: ExtenderConfig | null): void {
    this.#controllers?.setExtender(config);
  }

  /** Places every pod again, callers before callees, one at a time. Throws NotReadyError when one fails. */
  rePlace(options: RePlaceOptions = {}): Promise<Move[]> {
    const { store, clock, random, logger, manifest } = this.#options;
    const pods = (): readonly KubernetesObject[] => this.#informers.pods.items();
    return rePlacePods(manifest.workloads, { store, clock, random, logger, pods }, options);
  }

  /** Ends all children; the store keeps its objects, but for those that were created in a real cluster. */
  stop(): Promise<void> {
    this.#stopped ??= this.#end();
    return this.#stopped;
  }

  async #end(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#controllers?.stop(), this.#load?.stop()]);
    await removeObjects(this.#options);
    await untilPodsAreGone({ ...this.#options, pods: () => this.#informers.pods.items() });
    await Promise.all(this.#kubelets.map((kubelet) => kubelet.stop()));
    await Promise.all(Object.values(this.#informers).map((informer) => informer.stop()));
  }

  #notReady(): string[] {
    const pods = this.#informers.pods.items().filter((pod) => {
      const { ready, terminating } = podView(pod);
      return ready && !terminating;
    });
    const deployments = this.#informers.deployments
      .items()
      .filter(({ metadata }) => metadata.namespace === this.#options.manifest.namespace);
    return deployments
      .filter((deployment) => {
        const { replicas = 1 } = looseFields<Record<"replicas", unknown>>(deployment.spec);
        const wanted = Number(replicas);
        return pods.filter((pod) => workloadOf(pod).name === deployment.metadata.name).length < wanted;
      })
      .map(({ metadata }) => metadata.name);
  }

  /**
   * The load begins when the whole workflow is ready for the first time and knows it; from then on users see
   * every failure.
   */
  #pushEntry(): void {
    if (this.#loadState === "waiting" && this.#notReady().length === 0) this.#beginLoad();
    if (this.#loadState !== "begun") return;
    const { manifest, network, usersAt } = this.#options;
    const service = manifest.entry.services[0]!;
    const found = endpointsOf(this.#informers.services.items(), this.#informers.pods.items()).find(
      (candidate) => candidate.service === service,
    );
    // Users reach the entry at its node's own address: the way from them to the cluster is not part of the
    // emulated network.
    const endpoints = found?.endpoints ?? [];
    if (usersAt === undefined)
      this.#load?.setEndpoints(
        service,
        endpoints.map(({ node, port }) => ({ host: network.nodeAddress(node), port })),
      );
    else void this.#pushDistantEntry(service, usersAt, endpoints);
  }

  async #pushDistantEntry(
    service: string,
    usersAt: string,
    endpoints: readonly { readonly node: string; readonly port: number }[],
  ): Promise<void> {
    const { network, logger } = this.#options;
    const push = ++this.#entryPushes;
    try {
      const resolved = await Promise.all(
        endpoints.map(async ({ node, port }) => network.resolve(usersAt, node, { protocol: "tcp", port })),
      );
      if (push === this.#entryPushes) this.#load?.setEndpoints(service, resolved);
    } catch (error) {
      logger.warn("the entry can't be reached from where users are", { usersAt, error });
    }
  }

  #beginLoad(): void {
    this.#loadState = "settling";
    void this.#routed().then(
      () => {
        this.#loadState = "begun";
        return this.#pushEntry();
      },
      () => {},
    );
  }

  /**
   * Resolves when every sidecar knows where the last pod is: users see no failure for that they don't.
   * Rejects when the cluster stops.
   */
  async #routed(): Promise<void> {
    for (;;) {
      const routed = await Promise.all(this.#kubelets.map((kubelet) => kubelet.isRouted()));
      this.#stop.signal.throwIfAborted();
      if (!routed.includes(false)) return;
      await this.#options.clock.sleep(POLL_MS, this.#stop.signal);
    }
  }
}

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

export interface LabClusterOptions {
  readonly store: ClusterStore;
  readonly network: PodNetwork;
  readonly sites: readonly Site[];
  /**
   * `stand-in`: this cluster owns the store, and provides nodes, controllers and scheduler. `real`: an API
   * server with its own; its nodes stand for the sites, and only the workflow's namespace is used.
   * @default "stand-in"
   */
  readonly controlPlane?: "stand-in" | "real";
  readonly manifest: WorkflowManifest;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Load on the entry service; 0 = none. @default 5 */
  readonly requestsPerSecond?: number;
  readonly placement?: Placement;
  readonly extender?: ExtenderConfig;
  readonly pods?: Partial<RunnerOptions>;
  /** CPU limit of each node's pods. @default unlimited */
  readonly cpuBudget?: CpuBudget;
  readonly load?: LoadPlan;
  /** Node of the users, who then send over the network. @default beside the entry */
  readonly usersAt?: string;
  /** Creates EndpointSlices and routes by their hints. Only with the stand-in. @default false */
  readonly slices?: boolean;
  /** Load balancing: random, as kube-proxy does, or in turn. @default "random" */
  readonly choice?: "in-turn" | "random";
}

const POLL_MS = 25;

/** A cluster on one machine: nodes, controllers, scheduler, kubelets, pods as processes, and load. */
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

  /** Starts without waiting for pods: see `waitReady`. Cleans up on failure or abort. */
  static async start(options: LabClusterOptions, signal?: AbortSignal): Promise<LabCluster> {
    checkSites(options.sites);
    let cluster: LabCluster | null = null;
    try {
      // Before the informers list: a pod must not start before its Service is known.
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

  /** Throws NotReadyError with the Deployments that aren't ready. */
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

  pods(): LabPod[] {
    return this.#informers.pods
      .items()
      .map((pod) => labPod(pod, this.#options.network))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async receiverCounts(): Promise<ReceiverCount[]> {
    const totals = new Map<string, Map<string, number>>();
    await Promise.all(this.#kubelets.map((kubelet) => kubelet.addReceived(totals)));
    return [...totals].flatMap(([target, sources]) =>
      [...sources].map(([source, count]) => ({ source, target, count })),
    );
  }

  async endToEnd(options: { readonly lastMs: number }): Promise<EndToEnd> {
    if (this.#load === null) return NO_REQUESTS;
    return this.#load.report(options.lastMs);
  }

  /** Sidecars' metrics pages by pod over IPC, also without a route to their addresses. */
  async sidecarPages(): Promise<ReadonlyMap<string, string>> {
    return new Map((await Promise.all(this.#kubelets.map((kubelet) => kubelet.sidecarPages()))).flat());
  }

  setPace(factor: number): void {
    this.#load?.setPace(factor);
  }

  /** Requests of the period since the previous one's end. Resolves when all are answered. One at a time. */
  async stretch(durationMs: number): Promise<RawStretch> {
    return (await this.#load?.stretch(durationMs)) ?? { responseMs: [] };
  }

  /** CPU time by live pod on nodes with a budget, ms of one core. */
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

  setBehaviour(workload: string, behaviour: Behaviour): void {
    for (const kubelet of this.#kubelets) kubelet.setBehaviour(workload, behaviour);
  }

  /** Redirects a Service's requests from pods of a node to a proxy there; null restores direct routing. */
  setProxy(node: string, service: string, address: SocketAddress | null): void {
    this.#kubelets.find((kubelet) => kubelet.node === node)?.setProxy(service, address);
  }

  async killNode(node: string): Promise<void> {
    await this.#kubelets.find((kubelet) => kubelet.node === node)?.stop();
  }

  usagePage(node: string): string | null {
    const kubelet = this.#kubelets.find((candidate) => candidate.node === node);
    if (kubelet === undefined) return null;
    const { host, port } = kubelet.address;
    return `http://${host}:${port}${CADVISOR_PATH}`;
  }

  processes(): ReadonlyMap<string, number> {
    const pods = this.#kubelets.flatMap((kubelet) => [...kubelet.processes()]);
    const byUid = new Map(this.#informers.pods.items().map((pod) => [pod.metadata.uid, pod.metadata.name]));
    const named = pods.map(([uid, pid]) => [byUid.get(uid) ?? uid, pid] as const);
    return new Map(this.#load?.pid === undefined ? named : [...named, ["load", this.#load.pid]]);
  }

  /** Sets extender and placement by score; null removes it. Real schedulers have their own configuration. */
  setExtender(config: ExtenderConfig | null): void {
    this.#controllers?.setExtender(config);
  }

  /** Places every pod again, callers first, one at a time. Throws NotReadyError if one fails. */
  rePlace(options: RePlaceOptions = {}): Promise<Move[]> {
    const { store, clock, random, logger, manifest } = this.#options;
    const pods = (): readonly KubernetesObject[] => this.#informers.pods.items();
    return rePlacePods(manifest.workloads, { store, clock, random, logger, pods }, options);
  }

  /** Ends all children. Keeps objects in the store, except those created in a real cluster. */
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

  /** Load starts when the whole workflow is first ready and routed. From then on users see every failure. */
  #pushEntry(): void {
    if (this.#loadState === "waiting" && this.#notReady().length === 0) this.#beginLoad();
    if (this.#loadState !== "begun") return;
    const { manifest, network, usersAt } = this.#options;
    const service = manifest.entry.services[0]!;
    const found = endpointsOf(this.#informers.services.items(), this.#informers.pods.items()).find(
      (candidate) => candidate.service === service,
    );
    // Users reach the entry at its node's own address: their path isn't emulated.
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
   * Resolves when every sidecar knows the last pod's address, so that users see no failures from stale
   * routes. Rejects when the cluster stops.
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

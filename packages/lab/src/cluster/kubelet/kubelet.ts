import { boundPort } from "@isochrone/primitives";
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { isStoreError, KINDS, podView } from "@isochrone/kubernetes";
import type { ClusterStore, Informer, KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { endpointsOf } from "../controllers/endpoints.ts";
import type { ServiceEndpoints } from "../controllers/endpoints.ts";
import { endpointsFor } from "../discovery/kube-proxy.ts";
import { CADVISOR_PATH, UNKNOWN } from "../names.ts";
import { serviceSelects } from "../objects.ts";
import type { Behaviour } from "../manifest/model.ts";
import type { Route } from "../pod/protocol.ts";
import type { PodNetwork, Site, SocketAddress } from "../ports.ts";
import { Reconciler } from "../reconciler.ts";
import { renderCadvisor } from "./cadvisor.ts";
import type { ContainerUsage } from "./cadvisor.ts";
import { addCounts, Ledger } from "./ledger.ts";
import { NodeCpu } from "./node-cpu.ts";
import type { CpuBudget } from "./node-cpu.ts";
import { nodeObject } from "./node-object.ts";
import type { PodAddresses } from "./pod-addresses.ts";
import { PodRunner } from "./pod-runner.ts";
import type { RunnerOptions } from "./pod-runner.ts";

interface KubeletDependencies {
  readonly site: Site;
  readonly store: ClusterStore;
  readonly network: PodNetwork;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly pods: Informer;
  readonly services: Informer;
  /** EndpointSlices that routes follow; null: route to all ready pods. */
  readonly slices: Informer | null;
  readonly choice: "in-turn" | "random";
  readonly options: RunnerOptions;
  /** False: the node exists and isn't ours. */
  readonly registersNode: boolean;
  readonly addresses: PodAddresses;
  readonly cpuBudget: CpuBudget | null;
  onRestart(pod: string): void;
}

/** Stand-in kubelet of one node: runs bound pods as processes, reports their status, serves usage. */
export class Kubelet {
  readonly #deps: KubeletDependencies;
  readonly #runners = new Map<string, PodRunner>();
  readonly #ledger = new Ledger();
  readonly #reconciler: Reconciler;
  readonly #startedAtMs: number;
  readonly #cpu: NodeCpu | null;
  readonly #proxies = new Map<string, SocketAddress>();
  #server: Server | null = null;
  #stopping = false;

  constructor(deps: KubeletDependencies) {
    this.#deps = deps;
    this.#startedAtMs = deps.clock.now();
    const { site, cpuBudget, clock } = deps;
    this.#cpu = cpuBudget === null ? null : new NodeCpu(site.cpuMillicores, cpuBudget, clock);
    const name = `kubelet ${deps.site.name}`;
    this.#reconciler = new Reconciler({
      name,
      reconcile: () => this.#reconcile(),
      clock: deps.clock,
      logger: deps.logger,
    });
  }

  get node(): string {
    return this.#deps.site.name;
  }

  get address(): { readonly host: string; readonly port: number } {
    const { network } = this.#deps;
    return {
      host: network.kubeletAddress?.(this.node) ?? network.nodeAddress(this.node),
      port: this.#server?.listening === true ? boundPort(this.#server) : 0,
    };
  }

  async start(): Promise<void> {
    const { pods, services, slices } = this.#deps;
    this.#server = createServer((incoming, outgoing) => this.#serve(incoming, outgoing));
    await once(this.#server.listen(0, this.address.host), "listening");
    if (this.#deps.registersNode) await this.#register();
    pods.onChange(() => this.#reconciler.trigger());
    services.onChange(() => this.#reconciler.trigger());
    slices?.onChange(() => this.#reconciler.trigger());
    this.#reconciler.start();
  }

  async #register(): Promise<void> {
    const { site, store, clock } = this.#deps;
    const { host, port } = this.address;
    const ref = { ...KINDS.node, name: site.name };
    const node = nodeObject(site, host, port, clock.now());
    try {
      await store.create(node);
    } catch (error) {
      if (!isStoreError(error, "already_exists")) throw error;
      await store.patch(ref, { ...node });
      await store.patch(ref, { status: node.status }, { subresource: "status" });
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#reconciler.stop();
    await Promise.all([...this.#runners.values()].map((runner) => runner.kill()));
    this.#server?.closeAllConnections();
    await new Promise<void>((resolve) =>
      this.#server === null ? resolve() : this.#server.close(() => resolve()),
    );
  }

  /** CPU time granted by the node's budget, ms of one core; null without a budget. */
  workedMs(uid: string): number | null {
    return this.#cpu?.workedMs(uid) ?? null;
  }

  /** True if the sidecars of all its pods have the current routes. */
  async isRouted(): Promise<boolean> {
    await this.#reconciler.settled();
    const answers = await Promise.all([...this.#runners.values()].map((runner) => runner.answers()));
    return !answers.includes(false);
  }

  setBehaviour(workload: string, behaviour: Behaviour): void {
    for (const runner of this.#runners.values())
      if (runner.workload === workload) runner.setBehaviour(behaviour);
  }

  /** Redirects a Service's requests to a proxy on the node; null restores direct routing. */
  setProxy(service: string, address: SocketAddress | null): void {
    if (address === null) this.#proxies.delete(service);
    else this.#proxies.set(service, address);
    this.#reconciler.trigger();
  }

  processes(): ReadonlyMap<string, number> {
    return new Map(
      [...this.#runners].flatMap(([key, { pid }]) => (pid === undefined ? [] : [[key, pid] as const])),
    );
  }

  /** Sidecars' metrics pages by pod, without those that don't answer. */
  async sidecarPages(): Promise<[pod: string, page: string][]> {
    const pages = await Promise.all(
      [...this.#runners].map(async ([pod, runner]) => [pod, await runner.sidecarPage()] as const),
    );
    return pages.flatMap(([pod, page]) => (page === null ? [] : [[pod, page]]));
  }

  async addReceived(totals: Map<string, Map<string, number>>): Promise<void> {
    const live = [...this.#runners.values()];
    // A pod that ends during the request counts once: the ledger is read after the answers, for pods that
    // didn't answer.
    const answers = await Promise.all(
      live.map(async (runner) => ({ runner, received: await runner.received() })),
    );
    this.#ledger.addTo(totals);
    for (const { runner, received } of answers)
      if (runner.pid !== undefined) addCounts(totals, runner.workload, received);
  }

  async #reconcile(): Promise<void> {
    const pods = this.#deps.pods.items();
    const mine = new Set<string>();
    for (const pod of pods) {
      const { uid, node, finished, terminating } = podView(pod);
      if (uid === null || node !== this.node || finished) continue;
      mine.add(uid);
      if (!this.#runners.has(uid)) this.#begin(pod);
      if (terminating) this.#runners.get(uid)?.terminate();
    }
    for (const [uid, runner] of this.#runners) if (!mine.has(uid)) void runner.kill();
    const { services, slices, site } = this.#deps;
    const all = endpointsOf(services.items(), pods);
    const place = { node: site.name, zone: site.zone };
    await this.#pushRoutes(slices === null ? all : endpointsFor(all, slices.items(), place));
  }

  #begin(pod: KubernetesObject): void {
    if (this.#stopping) return;
    const runner = new PodRunner(pod, this.#serviceOf(pod), {
      ...this.#deps,
      node: this.node,
      ledger: this.#ledger,
      cpu: this.#cpu,
    });
    this.#runners.set(runner.uid, runner);
    void runner.done.then(() => {
      this.#runners.delete(runner.uid);
      return this.#reconciler.trigger();
    });
  }

  #serviceOf(pod: KubernetesObject): string {
    const service = this.#deps.services
      .items()
      .find(
        (candidate) =>
          candidate.metadata.namespace === pod.metadata.namespace &&
          serviceSelects(candidate, pod.metadata.labels),
      );
    return service?.metadata.name ?? UNKNOWN;
  }

  async #pushRoutes(services: readonly ServiceEndpoints[]): Promise<void> {
    if (this.#runners.size === 0) return;
    const routes: Route[] = [];
    for (const { service, namespace, endpoints } of services) {
      const resolved = await Promise.all(
        endpoints.map(async ({ node, port, identity }) => {
          const { host, port: reached } = await this.#deps.network.resolve(this.node, node, {
            protocol: "tcp",
            port,
          });
          return { host, port: reached, identity };
        }),
      );
      const proxy = this.#proxies.get(service);
      const [first] = resolved;
      if (proxy !== undefined && first !== undefined) {
        const authority = `${service}.${namespace}`;
        routes.push({ service, namespace, endpoints: [{ ...first, ...proxy }], authority });
        continue;
      }
      const { slices, choice: said } = this.#deps;
      const choice = slices === null || said === "in-turn" ? {} : { choice: said };
      routes.push({ service, namespace, endpoints: resolved, ...choice });
    }
    const text = JSON.stringify(routes);
    for (const runner of this.#runners.values()) runner.setRoutes(routes, text);
  }

  #serve(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const path = (incoming.url ?? "").split("?")[0];
    if (path === "/healthz") return void outgoing.writeHead(200, { "content-type": "text/plain" }).end("ok");
    if (path !== CADVISOR_PATH) return void outgoing.writeHead(404).end();
    const { site, clock } = this.#deps;
    const containers = [...this.#runners.values()]
      .map((runner) => runner.usage())
      .filter((usage): usage is ContainerUsage => usage !== null);
    const page = renderCadvisor({
      startedAtMs: this.#startedAtMs,
      nowMs: clock.now(),
      cpuMillicores: site.cpuMillicores,
      memoryBytes: site.memoryBytes,
      endedCpuSeconds: this.#endedCpuSeconds(containers),
      containers,
    });
    outgoing.writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" }).end(page);
  }

  /** The ledger holds all ended containers; live pods' sums include their own. */
  #endedCpuSeconds(containers: readonly ContainerUsage[]): number {
    let counted = 0;
    for (const { podCpuSeconds, cpuSeconds } of containers) counted += podCpuSeconds - cpuSeconds;
    return this.#ledger.cpuSeconds - counted;
  }
}

import { isStoreError, KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { pause, retry } from "@isochrone/runtime";
import { RestartPauses } from "../../restart-pauses.ts";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { identityOf } from "../controllers/endpoints.ts";
import { readBehaviour } from "../manifest/behaviour.ts";
import type { Behaviour } from "../manifest/model.ts";
import { PUBLISHED, SIDECAR_METRICS_PATH } from "../names.ts";
import { podSpec } from "../objects.ts";
import type { PodConfig, ReceivedCounts, Route } from "../pod/protocol.ts";
import type { PodNetwork } from "../ports.ts";
import type { ContainerUsage } from "./cadvisor.ts";
import { Container } from "./container.ts";
import type { ContainerPorts } from "./container.ts";
import type { Ledger } from "./ledger.ts";
import type { NodeCpu } from "./node-cpu.ts";
import type { PodAddresses } from "./pod-addresses.ts";
import { podStatus } from "./pod-status.ts";
import type { PodReport } from "./pod-status.ts";

export interface RunnerOptions {
  /** Time that a deleted pod keeps serving, or its own grace period if shorter. @default 3000 */
  readonly terminationGraceMs: number;
  /** First pause before restarting a crashed container; doubles with each crash. @default 1000 */
  readonly restartBackoffMs: number;
  readonly maxRestartBackoffMs: number;
  readonly callTimeoutMs: number;
  readonly usageIntervalMs: number;
  /** Idle timeout of connections between pods. @default 30000 */
  readonly idleTimeoutMs: number;
  /** Niceness of pods' processes, which yields to probes and relay; null: inherited. @default 5 */
  readonly niceness: number | null;
}

export const RUNNER_DEFAULTS: RunnerOptions = {
  terminationGraceMs: 3_000,
  restartBackoffMs: 1_000,
  maxRestartBackoffMs: 30_000,
  callTimeoutMs: 5_000,
  usageIntervalMs: 1_000,
  idleTimeoutMs: 30_000,
  niceness: 5,
};

/** Startup takes 1 s, or a minute on a busy machine. A process that exits earlier is restarted at once. */
const START_TIMEOUT_MS = 120_000;
/** Retries of status writes without limit, like a real kubelet's. */
const STORE_RETRIES = {
  initialMs: 200,
  maxMs: 5_000,
  factor: 2,
  jitterRatio: 0.5,
  maxAttempts: Number.POSITIVE_INFINITY,
};

interface RunnerDependencies {
  readonly node: string;
  readonly store: ClusterStore;
  readonly network: PodNetwork;
  readonly addresses: PodAddresses;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly options: RunnerOptions;
  readonly ledger: Ledger;
  readonly cpu: NodeCpu | null;
  onRestart(pod: string): void;
}

/** Runs one pod's process from binding to deletion, and keeps its status current. */
export class PodRunner {
  readonly #pod: KubernetesObject;
  readonly #service: string;
  readonly #deps: RunnerDependencies;
  readonly #address: string;
  readonly #abort = new AbortController();
  readonly #terminate = new AbortController();
  readonly #done: Promise<void>;
  #container: Container | null = null;
  #containerId = "";
  #ports: ContainerPorts = { port: 0, metricsPort: 0 };
  #exposed: number | null = null;
  #restarts = 0;
  #endedCpuSeconds = 0;
  #reporting = new AbortController();
  #reported: Promise<void> = Promise.resolve();
  #routes: { readonly routes: readonly Route[]; readonly text: string } = { routes: [], text: "[]" };

  constructor(pod: KubernetesObject, service: string, deps: RunnerDependencies) {
    this.#pod = pod;
    this.#service = service;
    this.#deps = deps;
    this.#address = deps.addresses.take();
    this.#done = this.#run()
      .catch((error: unknown) => deps.logger.error("pod given up", { pod: pod.metadata.name, error }))
      .finally(() => deps.addresses.give(this.#address));
  }

  get uid(): string {
    return this.#pod.metadata.uid!;
  }

  get workload(): string {
    return identityOf(this.#pod, "").workload;
  }

  get pid(): number | undefined {
    return this.#container?.pid;
  }

  get done(): Promise<void> {
    return this.#done;
  }

  setRoutes(routes: readonly Route[], text: string): void {
    this.#routes = { routes, text };
    this.#container?.setRoutes(routes, text);
  }

  /** A restarted container uses its pod's behaviour again. */
  setBehaviour(behaviour: Behaviour): void {
    this.#container?.setBehaviour(behaviour);
  }

  terminate(): void {
    this.#terminate.abort();
  }

  /** Kills the process without a status update. */
  async kill(): Promise<void> {
    this.#abort.abort();
    this.#terminate.abort();
    await this.#done;
  }

  async received(): Promise<ReceivedCounts> {
    return (await this.#container?.askReceived()) ?? {};
  }

  async answers(): Promise<boolean> {
    return (await this.#container?.answers()) ?? false;
  }

  async sidecarPage(): Promise<string | null> {
    return (await this.#container?.askPage()) ?? null;
  }

  usage(): ContainerUsage | null {
    const container = this.#container;
    if (container === null) return null;
    const { name: pod, namespace = "default" } = this.#pod.metadata;
    const spec = podSpec(this.#pod).containers?.[0];
    return {
      namespace,
      pod,
      uid: this.uid,
      container: spec?.name ?? "app",
      containerId: this.#containerId,
      image: spec?.image ?? "",
      startedAtMs: container.startedAtMs,
      timeMs: container.usage.timeMs,
      cpuSeconds: container.usage.cpuSeconds,
      podCpuSeconds: this.#endedCpuSeconds + container.usage.cpuSeconds,
      memoryBytes: container.usage.memoryBytes,
    };
  }

  async #run(): Promise<void> {
    const { clock, options } = this.#deps;
    const { restartBackoffMs: initialMs, maxRestartBackoffMs: maxMs } = options;
    const pauses = new RestartPauses(clock, { initialMs, maxMs, factor: 2 });
    while (!this.#terminate.signal.aborted) {
      pauses.started();
      await this.#runContainer();
      if (this.#terminate.signal.aborted) break;
      const pauseMs = pauses.next();
      this.#restarts++;
      this.#deps.onRestart(this.#pod.metadata.name);
      this.#report("crashed");
      await pause(clock, pauseMs, this.#terminate.signal);
    }
    this.#reporting.abort();
    if (this.#abort.signal.aborted) return;
    await this.#reported;
    await this.#insist("deletion", this.#abort.signal, () => this.#deletePod());
  }

  async #runContainer(): Promise<void> {
    const { clock, cpu } = this.#deps;
    const askCpu = cpu === null ? null : (cpuMs: number, done: () => void) => cpu.work(this.uid, cpuMs, done);
    const commandOn = this.#deps.network.commandOn?.(this.#deps.node) ?? [];
    const container = new Container(this.#config(), clock, askCpu, commandOn);
    this.#containerId = hexId(this.#deps.random);
    this.#container = container;
    try {
      this.#ports = await container.listening(START_TIMEOUT_MS);
      container.setRoutes(this.#routes.routes, this.#routes.text);
      await this.#expose(this.#ports.port);
      if (!this.#terminate.signal.aborted) this.#report("running");
      await Promise.race([container.exited, this.#graceOver()]);
    } catch (error) {
      const { name: pod } = this.#pod.metadata;
      if (!this.#abort.signal.aborted)
        this.#deps.logger.warn("container did not start", { pod, node: this.#deps.node, error });
    } finally {
      await container.stop();
      this.#container = null;
      cpu?.remove(this.uid);
      this.#endedCpuSeconds += container.usage.cpuSeconds;
      this.#deps.ledger.close(this.workload, container.received, container.usage);
      await this.#unexpose();
    }
  }

  async #graceOver(): Promise<void> {
    const { terminate, abort } = { terminate: this.#terminate.signal, abort: this.#abort.signal };
    if (!terminate.aborted)
      await new Promise((resolve) => terminate.addEventListener("abort", resolve, { once: true }));
    const pod = await this.#current().catch(() => null);
    const own = pod?.metadata.deletionGracePeriodSeconds ?? Number.POSITIVE_INFINITY;
    const graceMs = Math.min(this.#deps.options.terminationGraceMs, own * 1000);
    await pause(this.#deps.clock, graceMs, abort);
  }

  #config(): PodConfig {
    const { options, network, node, cpu } = this.#deps;
    return {
      identity: identityOf(this.#pod, network.nodeAddress(node)),
      service: this.#service,
      behaviour: readBehaviour(this.#pod.metadata.annotations ?? {}, (_, message) =>
        this.#deps.logger.warn("pod annotation ignored", { pod: this.#pod.metadata.name, message }),
      ),
      ...this.#ports,
      callTimeoutMs: options.callTimeoutMs,
      usageIntervalMs: options.usageIntervalMs,
      idleTimeoutMs: options.idleTimeoutMs,
      sharesCpu: cpu !== null,
      niceness: options.niceness,
    };
  }

  async #expose(port: number): Promise<void> {
    await this.#deps.network.expose(this.#deps.node, { protocol: "tcp", port });
    this.#exposed = port;
  }

  async #unexpose(): Promise<void> {
    if (this.#exposed === null) return;
    await this.#deps.network.unexpose(this.#deps.node, { protocol: "tcp", port: this.#exposed });
    this.#exposed = null;
  }

  get #ref(): { apiVersion: string; kind: string; namespace: string; name: string } {
    const { namespace = "default", name } = this.#pod.metadata;
    return { ...KINDS.pod, namespace, name };
  }

  async #current(): Promise<KubernetesObject | null> {
    const pod = await this.#deps.store.get(this.#ref);
    return pod?.metadata.uid === this.uid ? pod : null;
  }

  /** Replaces a pending report. Not awaited: containers also run while the store is unavailable. */
  #report(state: PodReport["state"]): void {
    this.#reporting.abort();
    const { signal } = (this.#reporting = new AbortController());
    const before = this.#reported;
    this.#reported = before.then(() => this.#insist("status", signal, () => this.#patch(state, signal)));
  }

  async #patch(state: PodReport["state"], signal: AbortSignal): Promise<void> {
    const pod = await this.#current();
    if (pod === null || signal.aborted) return;
    const { clock, addresses, store } = this.#deps;
    const annotations = {
      [PUBLISHED.port]: String(this.#ports.port),
      [PUBLISHED.scrape]: "true",
      [PUBLISHED.scrapePort]: String(this.#ports.metricsPort),
      [PUBLISHED.scrapePath]: SIDECAR_METRICS_PATH,
    };
    const status = podStatus(pod, {
      state,
      nowMs: clock.now(),
      hostAddress: addresses.host(),
      address: this.#address,
      containerId: this.#containerId,
      restarts: this.#restarts,
    });
    await store.patch(this.#ref, { metadata: { annotations } });
    await store.patch(this.#ref, { status }, { subresource: "status" });
  }

  /** Retries until aborted. Logs and drops what the store refuses. */
  async #insist(what: string, signal: AbortSignal, run: () => Promise<void>): Promise<void> {
    const { clock, random, logger } = this.#deps;
    const { name: pod } = this.#pod.metadata;
    try {
      await retry({ clock, random, policy: STORE_RETRIES, signal, run });
    } catch (error) {
      if (signal.aborted || isStoreError(error, "not_found")) return;
      logger.error(`${what} of a pod refused by the store`, { pod, node: this.#deps.node, error });
    }
  }

  async #deletePod(): Promise<void> {
    if ((await this.#current()) === null) return;
    await this.#deps.store.delete(this.#ref, { gracePeriodSeconds: 0 });
  }
}

function hexId(random: Random): string {
  let id = "";
  while (id.length < 64) id += Math.floor(random.next() * 16).toString(16);
  return id;
}

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { appGroup, indicesOf, OUR_CRDS } from "../appgroups.ts";
import { freePort } from "../common/free-port.ts";
import { ReapedFolder } from "../common/reaped-folder.ts";
import {
  ComponentProcess,
  installRules,
  MANIFEST_VALUES,
  type ComponentKind,
  type ComponentSettings,
} from "../components/index.ts";
import {
  podObject,
  startControlPlane,
  type ControlPlane,
  type CutProxy,
  type OptionalComponent,
  type ServiceAccountToken,
} from "../control-plane/index.ts";
import { writeKubeconfig } from "../control-plane/kubeconfig.ts";
import { processUse } from "../../soak/proc.ts";
import { acceptedWrites, saidTwice, toldTwice, type AcceptedWrite } from "./doubles.ts";
import { areaCostsOf, farCostOf, sorted } from "./readings.ts";
import type { StepAccount } from "./step-account.ts";
import { TelemetrySource } from "./telemetry-source.ts";

const { NAMESPACE, NAME, NETPERF_NAMESPACE, NETPERF_NAME } = MANIFEST_VALUES;
export const SHOP = "shop";
const ACCOUNTS = `system:serviceaccount:${NAMESPACE}:${NAME}-`;
export const SERVICE_ACCOUNTS = ["aggregator", "scheduler-plugin"].map((kind) => ({
  serviceAccount: { namespace: NAMESPACE, name: `${NAME}-${kind}` },
}));
const NODES = Array.from({ length: 6 }, (_, index) => ({
  name: `n${index}`,
  region: index < 3 ? "r0" : "r1",
  zone: index < 3 ? "z0" : "z1",
}));
const GROUP = { ...KINDS.appGroup, namespace: SHOP, name: "group" };
const DEPENDENCIES = { P1: "P2", P2: "P3", P3: "" };
const WORKFLOW = "flow";
const LEASE_TIMES = { leaseDurationMs: 2_500, leaseRenewDeadlineMs: 1_800, leaseRetryPeriodMs: 400 };
const ORDERS = {
  KahnSort: { P1: 1, P2: 2, P3: 3 },
  ReverseKahn: { P1: 3, P2: 2, P3: 1 },
} as const;
/** Latencies between regions in turn. Steps exceed the jitter threshold; no value is a written integer. */
const FAR_MS = [8.5, 11.5, 15.5, 20.5, 27.5, 36.5, 48.5, 63.5, 82.5];

/** Current truth, and the expected content of the cluster's objects. */
interface Truth {
  readonly farMs: number;
  readonly algorithm: keyof typeof ORDERS;
}

export class FaultTestbed {
  readonly cluster: ControlPlane;
  readonly proxy: CutProxy;
  aggregators: ComponentProcess[] = [];
  plugin!: ComponentProcess;
  source!: TelemetrySource;
  truth: Truth = { farMs: FAR_MS[0]!, algorithm: "KahnSort" };
  readonly #folder = new ReapedFolder("isochrone-faults");
  readonly #ports = new Set<number>();
  readonly #tokens: ServiceAccountToken[] = [];
  readonly #started: { readonly process: ComponentProcess; readonly pid: number }[] = [];
  readonly #telemetry = { nodes: NODES, namespace: SHOP, channel: ["p", "q"] as const };
  readonly #listeners: TelemetrySource[] = [];
  readonly #rssAtFirst = new Map<string, number>();
  readonly #steps: { readonly name: string; readonly fromMs: number; changes: number; caughtUpMs: number }[] =
    [];
  #changes = 0;

  static async start(components: readonly OptionalComponent[]): Promise<FaultTestbed> {
    const cluster = await startControlPlane({
      components: ["kwok", ...components],
      audit: "RequestResponse",
    });
    const testbed = new FaultTestbed(cluster, await cluster.startCutProxy());
    try {
      await testbed.#prepare();
      return testbed;
    } catch (error) {
      await testbed.close();
      throw error;
    }
  }

  private constructor(cluster: ControlPlane, proxy: CutProxy) {
    this.cluster = cluster;
    this.proxy = proxy;
  }

  async close(): Promise<void> {
    await Promise.all([this.source, ...this.#listeners].map((source) => source?.close()));
    await this.#folder.remove();
    this.proxy.close();
    await this.cluster.close();
  }

  async change(): Promise<void> {
    const farMs = FAR_MS[++this.#changes];
    if (farMs === undefined) throw new Error(`the truth changes at most ${FAR_MS.length - 1} times`);
    this.truth = { farMs, algorithm: this.truth.algorithm === "KahnSort" ? "ReverseKahn" : "KahnSort" };
    for (const source of [this.source, ...this.#listeners]) source.farMs = this.truth.farMs;
    await this.cluster.patch(GROUP, { spec: { topologySortingAlgorithm: this.truth.algorithm } });
  }

  /** Returns the time until all objects show the truth, ms. Throws an Error with the outdated ones. */
  async caughtUp(timeoutMs: number): Promise<number> {
    const beganMs = performance.now();
    const { farMs, algorithm } = this.truth;
    const isFar = (text: unknown): boolean => Math.abs(Number(text) / farMs - 1) < 0.05;
    const isFarRoundedUp = (text: unknown): boolean => Math.abs(Number(text) - Math.ceil(farMs)) <= 1;
    const { cluster } = this;
    await Promise.all([
      cluster.waitFor("nodes", (nodes) => nodes.every((node) => isFar(farCostOf(node))), { timeoutMs }),
      cluster.waitFor(
        KINDS.networkTopology,
        ([topology]) =>
          topology !== undefined &&
          areaCostsOf(topology).every(isFarRoundedUp) &&
          areaCostsOf(topology).length > 0,
        { timeoutMs },
      ),
      cluster.waitFor(
        "configmaps",
        (all) => {
          const map = all.find(({ metadata }) => metadata.name === NETPERF_NAME);
          const data = (map?.["data"] ?? {}) as Readonly<Record<string, string>>;
          return isFarRoundedUp(data["netperf.p90.latency.milliseconds.origin.n0.destination.n5"]);
        },
        { namespace: NETPERF_NAMESPACE, timeoutMs },
      ),
      cluster.waitFor(
        KINDS.appGroup,
        ([group]) => JSON.stringify(sorted(indicesOf(group!))) === JSON.stringify(ORDERS[algorithm]),
        { namespace: SHOP, timeoutMs },
      ),
    ]);
    return Math.round(performance.now() - beganMs);
  }

  /** Injects and heals a fault while the truth changes. Returns services that crashed or grew. */
  async through(name: string, withinMs: number, fault: () => Promise<unknown>): Promise<string[]> {
    const step = { name, fromMs: Date.now(), changes: this.#changes, caughtUpMs: Number.NaN };
    this.#steps.push(step);
    this.memory();
    await fault();
    step.caughtUpMs = await this.caughtUp(withinMs);
    step.changes = this.#changes - step.changes;
    return [...this.crashed(), ...this.grown()];
  }

  async account(): Promise<StepAccount[]> {
    const writes = await this.writes();
    return this.#steps.map(({ name, fromMs, changes, caughtUpMs }, index) => {
      const untilMs = this.#steps[index + 1]?.fromMs ?? Number.POSITIVE_INFINITY;
      const counts = new Map<string, number>();
      for (const { object, atMs } of writes)
        if (atMs >= fromMs && atMs < untilMs) counts.set(object, (counts.get(object) ?? 0) + 1);
      const of = (resource: string): number =>
        Math.max(
          0,
          ...[...counts].filter(([object]) => object.startsWith(`${resource}/`)).map(([, count]) => count),
        );
      return {
        name,
        fromMs,
        changes,
        caughtUpMs,
        topology: of("networktopologies"),
        netperf: of("configmaps"),
        appGroup: of("appgroups"),
        mostOfANode: of("nodes"),
      };
    });
  }

  async writes(sinceMs = 0): Promise<AcceptedWrite[]> {
    return acceptedWrites(
      await this.cluster.auditEvents(({ receivedMs }) => receivedMs >= sinceMs),
      ACCOUNTS,
    );
  }

  async doubled(): Promise<{ readonly said: AcceptedWrite[]; readonly told: string[] }> {
    return { said: saidTwice(await this.writes()), told: toldTwice(await this.cluster.list(KINDS.event)) };
  }

  crashed(): string[] {
    return this.#started.filter(({ process, pid }) => process.pid !== pid).map(({ process }) => process.name);
  }

  /** Returns services whose memory grew by more than 25 % plus 32 MiB, the normal variation of a heap. */
  grown(): string[] {
    return Object.entries(this.memory())
      .filter(([, { first, now }]) => now > 1.25 * first + 32)
      .map(([name, { first, now }]) => `${name}: from ${first} to ${now} MiB`);
  }

  /** Returns each service's memory at the first call and now, MiB. */
  memory(): Record<string, { readonly first: number; readonly now: number }> {
    return Object.fromEntries(
      this.#started.map(({ process: { name }, pid }) => {
        const now = Math.round((processUse(pid)?.rssBytes ?? 0) / 2 ** 20);
        if (!this.#rssAtFirst.has(name)) this.#rssAtFirst.set(name, now);
        return [name, { first: this.#rssAtFirst.get(name)!, now }];
      }),
    );
  }

  async leader(): Promise<string | null> {
    const lease = await this.cluster.get({
      ...KINDS.lease,
      namespace: NAMESPACE,
      name: "isochrone-aggregator",
    });
    const holder = lease?.spec?.["holderIdentity"];
    return typeof holder === "string" ? holder.split("_")[0] || null : null;
  }

  async revokeTokens(): Promise<readonly ServiceAccountToken[]> {
    const revoked = this.#tokens.splice(0);
    await Promise.all(revoked.map(({ revoke }) => revoke()));
    return revoked;
  }

  async renewTokens(): Promise<void> {
    for (const kind of ["aggregator", "scheduler-plugin"] as const) await this.#writeKubeconfig(kind);
  }

  /** Starts a separate aggregator. @param replicaName null: it assumes to be the only replica and so leads */
  async startAggregator(name: string, replicaName: string | null, port?: number): Promise<ComponentProcess> {
    return this.#start("aggregator", name, aggregatorSettings(replicaName), port ?? (await this.#port()));
  }

  async startPlugin(name: string, graphUrl: string, port?: number): Promise<ComponentProcess> {
    const scheduler = {
      ...LEASE_TIMES,
      graphUrl,
      refreshMs: 500,
      replicaName: name,
      appGroupIntervalMs: 0,
      // Scores by the network alone; the nodes are otherwise alike.
      gamma: 0,
      delta: 1,
    };
    return this.#start("scheduler-plugin", name, { scheduler }, port ?? (await this.#port()));
  }

  addListener(url: string): TelemetrySource {
    const listener = new TelemetrySource({ ...this.#telemetry, urls: [url] }, this.truth.farMs);
    this.#listeners.push(listener);
    return listener;
  }

  async kill(process: ComponentProcess): Promise<void> {
    this.#started.splice(
      this.#started.findIndex((one) => one.process === process),
      1,
    );
    await process.kill();
  }

  pod(name: string, workload: "p" | "q", nodeName?: string): KubernetesObject {
    const owner = {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      name: workload,
      uid: workload,
      controller: true,
    };
    const pod = podObject(name, {
      namespace: SHOP,
      labels: { app: workload, "isochrone.dev/workflow": WORKFLOW },
      requests: { cpu: "10m", memory: "16Mi" },
      ...(nodeName === undefined ? {} : { nodeName }),
    });
    return { ...pod, metadata: { ...pod.metadata, ownerReferences: [owner] } };
  }

  async #prepare(): Promise<void> {
    const { cluster } = this;
    for (const file of OUR_CRDS) await cluster.createYaml(readFileSync(file, "utf8"));
    await installRules(cluster);
    await cluster.createNamespace(SHOP);
    await cluster.addNodes(NODES);
    await cluster.create(appGroup(SHOP, GROUP.name, DEPENDENCIES, this.truth.algorithm));
    await cluster.create([this.pod("q-0", "q", "n4"), this.pod("p-0", "p", "n4")]);
    await this.renewTokens();
    const names = ["aggregator-0", "aggregator-1"];
    const ports = [await this.#port(), await this.#port()];
    const urls = ports.map((port) => `http://127.0.0.1:${port}`);
    this.source = new TelemetrySource({ ...this.#telemetry, urls }, this.truth.farMs);
    const aggregators = names.map((name, index) => this.startAggregator(name, name, ports[index]));
    const plugin = this.startPlugin("plugin-0", urls[0]!);
    [this.plugin, ...this.aggregators] = await Promise.all([plugin, ...aggregators]);
  }

  async #start(
    kind: ComponentKind,
    name: string,
    settings: ComponentSettings,
    port: number,
  ): Promise<ComponentProcess> {
    const kubeconfig = this.#kubeconfigOf(kind);
    const kubernetes = { kubeconfig, namespace: NAMESPACE, userAgent: userAgentOf(name) };
    const process = new ComponentProcess({
      kind,
      name,
      port,
      settings: { ...settings, service: { logFormat: "text" }, kubernetes },
      environment: this.#folder.environment,
      folder: this.#folder.path,
    });
    await process.start();
    this.#started.push({ process, pid: process.pid! });
    return process;
  }

  #port(): Promise<number> {
    return freePort("127.0.0.1", this.#ports);
  }

  #kubeconfigOf(kind: ComponentKind): string {
    return join(this.#folder.path, `${kind}.kubeconfig`);
  }

  async #writeKubeconfig(kind: "aggregator" | "scheduler-plugin"): Promise<void> {
    const account = { namespace: NAMESPACE, name: `${NAME}-${kind}` };
    const token = await this.cluster.serviceAccountToken(account);
    this.#tokens.push(token);
    writeKubeconfig(this.#kubeconfigOf(kind), this.proxy.url, this.cluster.ca, { token: token.token });
  }
}

/** The API server's audit log tells processes of one account apart by the user agent. */
export function userAgentOf(name: string): string {
  return `isochrone-${name}`;
}

function aggregatorSettings(replicaName: string | null): ComponentSettings {
  return {
    aggregator: {
      windowMs: 4_000,
      paneMs: 500,
      maxFutureMs: 500,
      buildIntervalMs: 500,
      // Fits coordinates once, because each further fit would be another change.
      coordinateIntervalMs: 3_600_000,
      counterLagMs: 0,
      ...LEASE_TIMES,
      ...(replicaName === null ? {} : { replicaName }),
    },
    annotations: {
      minIntervalMs: 1_000,
      warmUpMs: 3_000,
      netperfConfigMap: `${NETPERF_NAMESPACE}/${NETPERF_NAME}`,
      netperfIntervalMs: 1_000,
    },
    // The object stores its write time, so a second leader can't overwrite it with an older observation.
    networkTopology: { checkIntervalMs: 500, minWriteIntervalMs: 2_000 },
  };
}

// Testbed of the webhook and the gates, with scheduler-plugin processes behind one address.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { promisify } from "node:util";
import {
  gatesOf,
  KINDS,
  LABELS,
  PLACEMENT_GATE,
  PLACEMENT_LABEL,
  PLANNER_LEASE,
  WEBHOOK_CONFIGURATION,
  type KubernetesObject,
} from "@isochrone/kubernetes";
import { vi } from "vitest";
import { OUR_CRDS } from "./appgroups.ts";
import {
  Installation,
  installPolicies,
  installRules,
  MANIFEST_VALUES,
  type ComponentProcess,
  type ComponentSettings,
} from "./components/index.ts";
import type { ControlPlane } from "./control-plane/index.ts";
import { clusterGraph, COMMAND, startGraphApi, workflowGraph, type GraphApi } from "./extender.ts";

const { NAMESPACE } = MANIFEST_VALUES;
const HOST = "127.0.0.1";
const BEAT_MS = 500;
export const ENABLED = { [PLACEMENT_LABEL]: "enabled" };
export const DISABLED = { [PLACEMENT_LABEL]: "disabled" };
export const CONFIGURATION = { ...KINDS.mutatingWebhookConfiguration, name: WEBHOOK_CONFIGURATION };
export const LEASE = { ...KINDS.lease, namespace: NAMESPACE, name: PLANNER_LEASE };
/** ClusterRole that owns the webhook registration. */
export const ROLE = { ...KINDS.clusterRole, name: `${MANIFEST_VALUES.NAME}-scheduler-plugin-webhook` };
/** Short intervals, so that tests don't wait. */
const QUICK = { heartbeatMaxAgeMs: 3_000, heartbeatCheckMs: 200, certificateCheckMs: 250 };
const LEASE_TIMES = { leaseDurationMs: 3_000, leaseRenewDeadlineMs: 2_000, leaseRetryPeriodMs: 400 };
const RULES = [
  "scheduler-plugin",
  "scheduler-plugin-pod-events",
  "scheduler-plugin-appgroup-status",
  "scheduler-plugin-replicas",
  "scheduler-plugin-webhook",
  "aggregator",
  "aggregator-gates",
  "aggregator-replicas",
  "uninstall",
];

export class WebhookTestbed {
  readonly cluster: ControlPlane;
  readonly installation: Installation;
  readonly balancer = new Balancer();
  #graphs: GraphApi | null = null;
  #beating: NodeJS.Timeout | null = null;

  constructor(cluster: ControlPlane) {
    this.cluster = cluster;
    this.installation = new Installation(cluster);
  }

  async prepare(nodes = 2, rules: readonly string[] = []): Promise<void> {
    const { cluster } = this;
    for (const file of OUR_CRDS) await cluster.createYaml(readFileSync(file, "utf8"));
    await installRules(cluster, [...RULES, ...rules]);
    await installPolicies(cluster);
    await cluster.addNodes(nodes, (index) => ({ name: `node-${index}` }));
    this.#graphs = await startGraphApi();
    const names = Array.from({ length: nodes }, (_, index) => ({ name: `node-${index}` }));
    this.#graphs.say({ cluster: clusterGraph(names, () => 1), workflow: workflowGraph({}, []) });
    await this.balancer.listen();
  }

  get graphUrl(): string {
    return this.#graphs!.url;
  }

  say(graphs: Parameters<GraphApi["say"]>[0]): void {
    this.#graphs!.say(graphs);
  }

  async close(): Promise<void> {
    await this.stopBeating();
    await this.installation.close();
    await this.balancer.close();
    await this.#graphs?.close();
  }

  async plugin(
    name: string,
    webhook: ComponentSettings[string] = {},
    { scheduler = {}, ...others }: ComponentSettings = {},
  ): Promise<ComponentProcess> {
    const port = await this.installation.port();
    this.balancer.add(port);
    return this.installation.component("scheduler-plugin", name, {
      ...others,
      scheduler: {
        ...LEASE_TIMES,
        graphUrl: this.#graphs!.url,
        replicaName: name,
        podEvents: false,
        ...scheduler,
      },
      webhook: {
        enabled: true,
        host: HOST,
        port,
        url: this.balancer.url,
        ownerClusterRole: ROLE.name,
        ...QUICK,
        ...webhook,
      },
    });
  }

  async aggregator(name: string, gates: ComponentSettings[string]): Promise<ComponentProcess> {
    return this.installation.component("aggregator", name, {
      aggregator: { ...LEASE_TIMES, replicaName: name },
      annotations: { nodes: false },
      networkTopology: { writer: "upstream" },
      gates: { checkIntervalMs: 500, ...gates },
    });
  }

  async beat(): Promise<void> {
    await this.stopBeating();
    await this.#renew();
    this.#beating = setInterval(() => void this.#renew().catch(() => undefined), BEAT_MS);
  }

  async stopBeating(): Promise<void> {
    if (this.#beating !== null) clearInterval(this.#beating);
    this.#beating = null;
  }

  async untilGating(): Promise<void> {
    const look = async (): Promise<void> => {
      if ((await this.admitted()).join() !== PLACEMENT_GATE) throw new Error("the webhook sets no gates yet");
    };
    await vi.waitFor(look, { timeout: 40_000, interval: 200 });
  }

  /** Returns the gates that a new pod which requests ours would have now. */
  async admitted(): Promise<string[]> {
    const pod = this.pod("trial", { labels: ENABLED, isGenerated: true });
    const path = "/api/v1/namespaces/default/pods?dryRun=All";
    return gatesOf(await this.cluster.request("POST", path, pod));
  }

  pod(name: string, options: PodFields = {}): KubernetesObject {
    const { namespace = "default", labels = {}, annotations = {}, ownerReferences, spec = {} } = options;
    const container = { name: "main", image: "none", resources: { requests: { cpu: "10m" } } };
    return {
      ...KINDS.pod,
      metadata: {
        ...(options.isGenerated === true ? { generateName: `${name}-` } : { name }),
        namespace,
        labels,
        annotations,
        ...(ownerReferences === undefined ? {} : { ownerReferences }),
      } as KubernetesObject["metadata"],
      spec: { containers: [container], terminationGracePeriodSeconds: 0, ...spec },
    };
  }

  gates(args: readonly string[], kubeconfig = this.cluster.kubeconfig): Promise<CommandResult> {
    return this.command(["gates", ...args], kubeconfig);
  }

  /** Runs `isochrone ...` with this kubeconfig and returns the result for any exit code. */
  async command(args: readonly string[], kubeconfig = this.cluster.kubeconfig): Promise<CommandResult> {
    const all = [COMMAND, ...args, "--kubeconfig", kubeconfig];
    try {
      const { stdout } = await promisify(execFile)(process.execPath, all, { timeout: 60_000 });
      return { code: 0, stdout, stderr: "" };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return { code, stdout, stderr };
    }
  }

  async gatedPods(namespace?: string): Promise<string[]> {
    const pods = await this.cluster.list("pods", namespace === undefined ? {} : { namespace });
    return pods.filter((pod) => gatesOf(pod).includes(PLACEMENT_GATE)).map(({ metadata }) => metadata.name);
  }

  async #renew(): Promise<void> {
    const spec = { holderIdentity: "planner-of-the-test", leaseDurationSeconds: 10, renewTime: microTime() };
    const found = await this.cluster.get(LEASE);
    if (found !== null) await this.cluster.patch(LEASE, { spec });
    else
      await this.cluster.create({
        ...KINDS.lease,
        metadata: { namespace: NAMESPACE, name: PLANNER_LEASE },
        spec,
      });
  }
}

export interface PodFields {
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly object[];
  readonly spec?: Readonly<Record<string, unknown>>;
  /** The API server generates the name. */
  readonly isGenerated?: boolean;
}

interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface HttpsAnswer {
  readonly status: number;
  readonly text: string;
}

/** Uses a new connection. @param ca PEM; without it, accepts any certificate */
export function askWebhook(
  url: string,
  body: string,
  options: { method?: string; ca?: string } = {},
): Promise<HttpsAnswer> {
  const { method = "POST", ca } = options;
  const trust = ca === undefined ? { rejectUnauthorized: false } : { ca };
  return new Promise((resolve, reject) => {
    const request = httpsRequest(url, { method, agent: false, ...trust }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.on("error", reject);
    request.end(body);
  });
}

/** An AppGroup in which `web` needs bandwidth to `db`. */
export function appGroup(name: string, labels: Readonly<Record<string, string>>): KubernetesObject {
  const workload = (selector: string): object => ({
    kind: "Deployment",
    name: selector,
    selector,
    apiVersion: "apps/v1",
    namespace: "default",
  });
  return {
    ...KINDS.appGroup,
    metadata: { name, namespace: "default", labels: { ...labels } },
    spec: {
      numMembers: 2,
      topologySortingAlgorithm: "KahnSort",
      workloads: [
        { workload: workload("web"), dependencies: [{ workload: workload("db"), minBandwidth: "1M" }] },
        { workload: workload("db") },
      ],
    },
  };
}

export function groupLabels(group: string, workload: string): Record<string, string> {
  return { [LABELS.appGroup]: group, [LABELS.appGroupWorkload]: workload };
}

function microTime(): string {
  return `${new Date().toISOString().slice(0, 23)}000Z`;
}

/** Stands in for a Service: each connection goes to the next listening replica. */
class Balancer {
  readonly #ports: number[] = [];
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;
  #next = 0;
  /** While true, accepts connections and sends nothing. */
  isSilent = false;
  held = 0;
  /** Forwarding delay of a new connection, ms. */
  delayMs = 0;
  /** While true, responds in plain text, like a server without a certificate. */
  isPlain = false;

  get url(): string {
    return `https://${HOST}:${(this.#server!.address() as AddressInfo).port}`;
  }

  add(port: number): void {
    this.#ports.push(port);
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async listen(): Promise<void> {
    const server = createServer((client) => this.#take(client));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server?.close(resolve) ?? resolve(undefined));
  }

  #take(client: Socket): void {
    this.#keep(client);
    if (this.isSilent) this.held += 1;
    else if (this.isPlain) client.end("HTTP/1.1 400 Bad Request\r\n\r\n");
    else if (this.delayMs === 0) this.#connect(client, this.#ports.length);
    else setTimeout(() => this.#connect(client, this.#ports.length), this.delayMs);
  }

  #connect(client: Socket, tries: number): void {
    if (client.destroyed) return;
    if (tries === 0) return void client.destroy();
    const port = this.#ports[this.#next++ % this.#ports.length]!;
    const upstream = connect(port, HOST);
    const onRefused = (): void => this.#connect(client, tries - 1);
    upstream.once("error", onRefused);
    upstream.once("connect", () => {
      upstream.off("error", onRefused);
      this.#keep(upstream);
      client.pipe(upstream).pipe(client);
      client.once("close", () => upstream.destroy());
      upstream.once("close", () => client.destroy());
    });
  }

  #keep(socket: Socket): void {
    socket.on("error", () => undefined);
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }
}

// Testbed of the extender on a real kube-scheduler, with a graph API of settable responses.
import { createApiServerStore } from "@isochrone/kubernetes/api-server";
import { channel, link, node } from "@isochrone/placement/testing";
import { createRegistry, loadSettings, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger, TestAuthority } from "@isochrone/runtime/testing";
import type { TestCertificate } from "@isochrone/runtime/testing";
import { createSchedulerPlugin, schedulerPluginSettings } from "@isochrone/scheduler-plugin";
import type {
  ClusterGraphSnapshot,
  Decision,
  ServiceDemand,
  WorkflowGraphSnapshot,
} from "@isochrone/topology";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { request as httpsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { GraphSource } from "@isochrone/scheduler-plugin/testing";
import type { ControlPlane } from "./control-plane/index.ts";

const HOST = "127.0.0.1";
const SERVER_NAME = "scheduler-plugin.isochrone.svc";
export const COMMAND = fileURLToPath(new URL("../../cli/bin/isochrone.mjs", import.meta.url));
export const NAMESPACE = "default";
export const WORKFLOW = "flow";

interface FixtureNode {
  readonly name: string;
  readonly availableCpuMillicores?: number | null;
}

/** Builds a current cluster graph; `costMs` returns null for unmeasured pairs. */
export function clusterGraph(
  nodes: readonly FixtureNode[],
  costMs: (a: string, b: string) => number | null,
  windowSeconds = 30,
): ClusterGraphSnapshot {
  const observedAt = new Date().toISOString();
  return {
    version: Date.now(),
    observedAt,
    windowSeconds,
    nodes: nodes.map(({ name, availableCpuMillicores: cpu = null }) =>
      node(name, cpu, cpu === null ? null : 200e9, {
        allocatableCpuMillicores: 32_000,
        allocatableMemoryBytes: 256e9,
        usageAgeSeconds: 0,
      }),
    ),
    links: nodes.flatMap(({ name: a }) =>
      nodes.flatMap(({ name: b }) => {
        const ms = a === b ? null : costMs(a, b);
        return ms === null ? [] : [link(a, b, ms, { ageSeconds: 0, observedAt })];
      }),
    ),
  };
}

/** `pods`: nodes by workload. `channels`: source, target and bytes per second. */
export function workflowGraph(
  pods: Readonly<Record<string, readonly string[]>>,
  channels: readonly (readonly [source: string, target: string, bytesPerSecond: number])[],
): WorkflowGraphSnapshot {
  return {
    version: Date.now(),
    observedAt: new Date().toISOString(),
    namespace: NAMESPACE,
    name: WORKFLOW,
    workloads: Object.entries(pods).map(([name, nodes]) => ({
      name,
      kind: "Deployment",
      namespace: NAMESPACE,
      cpuMillicores: null,
      memoryBytes: null,
      pods: nodes.map((node, index) => ({ name: `${name}-shown-${index}`, node })),
    })),
    channels: channels.map(([source, target, bytesPerSecond]) =>
      channel(source, target, bytesPerSecond, { ageSeconds: 0 }),
    ),
  };
}

interface SaidGraphs {
  readonly cluster: ClusterGraphSnapshot;
  readonly workflow: WorkflowGraphSnapshot;
  /** Demand of zones for Services. @default none */
  readonly demand?: readonly ServiceDemand[];
}

export interface GraphApi {
  readonly url: string;
  /** Sets the response, timestamped at each request. Null: 503. */
  say(graphs: SaidGraphs | null): void;
  close(): Promise<void>;
}

export async function startGraphApi(): Promise<GraphApi> {
  let said: Parameters<GraphApi["say"]>[0] = null;
  // Same keep-alive as our servers, so that a client that was busy for seconds finds its connection open.
  const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    response.setHeader("content-type", "application/json");
    if (said === null) {
      response.writeHead(503).end("{}");
      return;
    }
    const observedAt = new Date().toISOString();
    const { cluster, workflow, demand: services = [] } = said;
    const { namespace, name, workloads, channels } = workflow;
    const counts = { workloads: workloads.length, channels: channels.length, pods: 0 };
    const answers: Readonly<Record<string, unknown>> = {
      "/api/v1/graph/cluster": { ...cluster, observedAt },
      "/api/v1/graph/demand": { version: 1, observedAt, windowSeconds: 300, services },
      "/api/v1/graph/workflows": {
        version: 1,
        observedAt,
        workflows: [{ namespace, name, ...counts }],
        // Sends everything, whatever the reader already has.
        id: "said",
        graphs: [{ ...workflow, observedAt }],
      },
      [`/api/v1/graph/workflows/${namespace}/${name}`]: { ...workflow, observedAt },
    };
    const answer = answers[new URL(request.url ?? "/", `http://${HOST}`).pathname];
    response.writeHead(answer === undefined ? 404 : 200).end(JSON.stringify(answer ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}`,
    say: (graphs) => {
      said = graphs;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}

export class Certificates {
  readonly folder: string;
  readonly authority: TestAuthority;
  readonly server: TestCertificate;
  readonly client: TestCertificate;
  readonly stranger: TestCertificate;

  private constructor(folder: string, authority: TestAuthority, all: readonly TestCertificate[]) {
    this.folder = folder;
    this.authority = authority;
    [this.server, this.client, this.stranger] = all as [TestCertificate, TestCertificate, TestCertificate];
  }

  static async create(): Promise<Certificates> {
    const folder = await mkdtemp(join(tmpdir(), "isochrone-extender-"));
    const authority = await TestAuthority.create(folder, "ca");
    const strangers = await TestAuthority.create(folder, "strangers");
    return new Certificates(folder, authority, [
      await authority.issue("extender", [SERVER_NAME]),
      await authority.issue("kube-scheduler"),
      await strangers.issue("stranger"),
    ]);
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

export interface Replica {
  /** URL with the path before the verbs. */
  readonly url: string;
  readonly port: number;
  metrics(): Promise<string>;
  requests(labels?: string): Promise<number>;
  decisions(pod?: string): Promise<Decision[]>;
  post(verb: string, body: unknown, as?: TestCertificate): Promise<{ status: number; json: unknown }>;
  get(path: string): Promise<{ status: number; json: unknown }>;
  stop(): Promise<void>;
}

interface ReplicaOptions {
  readonly cluster: ControlPlane;
  readonly certificates: Certificates;
  readonly graphUrl?: string;
  /** @default the graph API at `graphUrl` */
  readonly graphs?: GraphSource;
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** Runs a scheduler-plugin in process behind client certificates. Resolves when it is ready. */
export async function startReplica(options: ReplicaOptions): Promise<Replica> {
  const { cluster, certificates, graphUrl, graphs, settings = {} } = options;
  const { authority, server, client } = certificates;
  const scheduler = {
    port: 0,
    ...(graphUrl === undefined ? {} : { graphUrl }),
    refreshMs: 100,
    tlsCertFile: server.certFile,
    tlsKeyFile: server.keyFile,
    tlsClientCaFile: authority.caFile,
    ...settings,
  };
  const config = loadSettings([schedulerPluginSettings], { env: {}, overrides: { scheduler } }).scheduler;
  const registry = createRegistry();
  const surroundings = { clock: systemClock, random: systemRandom, logger: new MemoryLogger() };
  const store = createApiServerStore({
    ...surroundings,
    credentials: { kubeconfig: cluster.kubeconfig },
    qps: 500,
    burst: 1_000,
  });
  const plugin = createSchedulerPlugin(config, {
    ...surroundings,
    registry,
    store,
    ...(graphs === undefined ? {} : { graphs }),
  });
  await plugin.start();
  const { port, url } = plugin.address();
  const ca = await authority.ca();
  const ask = async (
    method: string,
    path: string,
    body: unknown,
    as: TestCertificate,
  ): Promise<{ status: number; json: unknown }> => {
    const files = { cert: await readFile(as.certFile), key: await readFile(as.keyFile) };
    return new Promise((resolve, reject) => {
      const sent = httpsRequest(
        { host: HOST, port, path, method, ca, servername: SERVER_NAME, agent: false, ...files },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
          response.on("end", () =>
            resolve({ status: response.statusCode ?? 0, json: JSON.parse(text) as unknown }),
          );
        },
      );
      sent.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body));
    });
  };
  return {
    url: `${url}/scheduler`,
    port,
    metrics: () => registry.metrics(),
    requests: async (labels = "") =>
      sumOf(await registry.metrics(), "isochrone_scheduler_requests_total", labels),
    decisions: async (pod) => {
      const query = pod === undefined ? "" : `?pod=${pod}`;
      const { json } = await ask("GET", `/api/v1/decisions${query}`, undefined, client);
      return (json as { decisions: Decision[] }).decisions;
    },
    post: (verb, body, as = client) => ask("POST", `/scheduler/${verb}`, body, as),
    get: (path) => ask("GET", path, undefined, client),
    stop: async () => {
      await plugin.stop();
      store.close();
    },
  };
}

/** Sums a metric's lines that contain `labels`. */
export function sumOf(metrics: string, name: string, labels = ""): number {
  const lines = metrics.split("\n").filter((line) => line.startsWith(name) && line.includes(labels));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

/** kube-scheduler configuration for this machine: no leader election, no request rate limit. */
export const BASE_CONFIG = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: "@KUBECONFIG@", qps: 2000, burst: 4000}
leaderElection: {leaderElect: false}
`;

interface ConfigOptions {
  /** @default the client certificate that the extender trusts */
  readonly client?: TestCertificate;
  readonly options?: readonly string[];
  readonly base?: string;
}

export async function schedulerConfig(
  url: string,
  certificates: Certificates,
  { client = certificates.client, options = [], base = BASE_CONFIG }: ConfigOptions = {},
): Promise<string> {
  const file = join(certificates.folder, "scheduler.yaml");
  await writeFile(file, base);
  const where = ["--url", url, "--server-name", SERVER_NAME, "--ca", certificates.authority.caFile];
  const as = ["--client-certificate", client.certFile, "--client-key", client.keyFile];
  const args = [COMMAND, "scheduler-config", file, ...where, ...as, ...options];
  return (await promisify(execFile)(process.execPath, args, { timeout: 30_000 })).stdout;
}

// Shared by a describe: a control plane with nodes and links.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { OUR_CRDS } from "./appgroups.ts";
import { nodeNameOf, startControlPlane, type ControlPlane } from "./control-plane/index.ts";
import { startGraphApi, type GraphApi } from "./extender.ts";
import { flowNetwork, STREAM_CRD_NAMES, STREAM_CRDS } from "./streams.ts";
import { startStreams, type RunningStreams, type StreamsOptions } from "./streams-plugin.ts";

export const STREAM_COMPONENTS = ["scheduler", "controller-manager", "kwok"] as const;

interface JobStatus {
  readonly phase: string;
  readonly throughput: number;
  readonly limitText: string;
  readonly tasks: readonly { readonly name: string; readonly node: string }[];
  readonly flows: readonly {
    readonly from?: string;
    readonly to: string;
    readonly route: readonly string[];
    readonly bitsPerSecond: number;
  }[];
}

interface StreamsTestbed {
  /** Available from the first test on, like the fields below. */
  readonly cluster: ControlPlane;
  readonly graphUrl: string;
  readonly start: (options?: Partial<StreamsOptions>) => Promise<RunningStreams>;
  /** Starts a separate process whose pods wait for rules. Killed after the test. */
  readonly startProcess: (environment?: Readonly<Record<string, string>>) => ChildProcess;
  readonly submit: (job: KubernetesObject) => Promise<KubernetesObject>;
  readonly job: (namespace: string, name: string) => Promise<KubernetesObject | null>;
  readonly remove: (namespace: string, name: string) => Promise<unknown>;
  readonly statusOf: (namespace: string, name: string) => Promise<Partial<JobStatus>>;
  readonly phase: (namespace: string, name: string) => Promise<string | undefined>;
  readonly podsOf: (namespace: string) => Promise<KubernetesObject[]>;
  readonly nodesOf: (namespace: string) => Promise<Record<string, string | null>>;
}

const MAIN = join(import.meta.dirname, "../../scheduler-plugin/src/main.ts");
const API = "/apis/isochrone.dev/v1alpha1";

export function streamsTestbed(
  nodes: Parameters<ControlPlane["addNodes"]>[0],
  links: Parameters<typeof flowNetwork>[1],
): StreamsTestbed {
  let cluster: ControlPlane;
  let graphs: GraphApi;
  beforeAll(async () => {
    [cluster, graphs] = await Promise.all([
      startControlPlane({ components: STREAM_COMPONENTS }),
      startGraphApi(),
    ]);
    for (const file of OUR_CRDS) await cluster.createYaml(readFileSync(file, "utf8"));
    for (const file of STREAM_CRDS) await cluster.kubectl("apply", "-f", file);
    await cluster.kubectl("wait", "--for=condition=Established", "--timeout=20s", ...STREAM_CRD_NAMES);
    await cluster.addNodes(nodes);
    await cluster.request("POST", `${API}/flownetworks`, flowNetwork("site", links));
  }, 900_000);
  afterAll(async () => {
    await graphs?.close();
    await cluster?.close();
  });
  const job: StreamsTestbed["job"] = (namespace, name) =>
    cluster.get({ ...KINDS.streamJob, namespace, name });
  const statusOf: StreamsTestbed["statusOf"] = async (namespace, name) =>
    (await job(namespace, name))?.status ?? {};
  const podsOf: StreamsTestbed["podsOf"] = (namespace) => cluster.list("pods", { namespace });
  return {
    get cluster() {
      return cluster;
    },
    get graphUrl() {
      return graphs.url;
    },
    start: async (options = {}) => {
      const { kubeconfig } = cluster;
      const started = await startStreams({ kubeconfig, graphUrl: graphs.url, ...options });
      onTestFinished(() => started.stop().catch(() => undefined));
      return started;
    },
    startProcess: (environment = {}) => startProcess(cluster.kubeconfig, graphs.url, environment),
    submit: (object) =>
      cluster.request("POST", `${API}/namespaces/${object.metadata.namespace!}/streamjobs`, object),
    job,
    remove: (namespace, name) => cluster.remove({ ...KINDS.streamJob, namespace, name }),
    statusOf,
    phase: async (namespace, name) => (await statusOf(namespace, name)).phase,
    podsOf,
    nodesOf: async (namespace) =>
      Object.fromEntries(
        (await podsOf(namespace)).map((pod) => [
          pod.metadata.labels!["isochrone.dev/stream-task"]!,
          nodeNameOf(pod),
        ]),
      ),
  };
}

function startProcess(
  kubeconfig: string,
  graphUrl: string,
  environment: Readonly<Record<string, string>>,
): ChildProcess {
  const child = spawn(process.execPath, [MAIN], {
    env: {
      PATH: process.env["PATH"],
      ISOCHRONE_KUBERNETES_KUBECONFIG: kubeconfig,
      ISOCHRONE_SCHEDULER_PORT: "0",
      ISOCHRONE_SCHEDULER_GRAPH_URL: graphUrl,
      ISOCHRONE_KUBERNETES_NAMESPACE: "default",
      ISOCHRONE_STREAMS_ENABLED: "true",
      ISOCHRONE_STREAMS_AWAIT_RULES: "true",
      ...environment,
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  return child;
}

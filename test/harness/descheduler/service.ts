// Testbed of the descheduler on a real control plane, with graphs that follow the pods.
import type { KubernetesObject } from "@isochrone/kubernetes";
import { createApiServerStore } from "@isochrone/kubernetes/api-server";
import { createRegistry, loadSettings, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import {
  createSchedulerPlugin,
  deschedulerSettings,
  plannerSettings,
  schedulerPluginSettings,
  webhookSettings,
} from "@isochrone/scheduler-plugin";
import type { DeschedulerReport } from "@isochrone/scheduler-plugin";
import type { GraphSource } from "@isochrone/scheduler-plugin/testing";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { Decision } from "@isochrone/topology";
import type { ControlPlane } from "../control-plane/index.ts";
import { nodeNameOf } from "../control-plane/index.ts";
import { clusterGraph, sumOf, workflowGraph } from "../extender.ts";

const POLL_MS = 100;
/** Period over which a move must have paid. */
const WINDOW_SECONDS = 4;

interface FollowedOptions {
  readonly cluster: ControlPlane;
  readonly namespace: string;
  /** Zone by node. */
  readonly zones: Readonly<Record<string, string>>;
  readonly workloads: readonly string[];
  readonly channels: readonly (readonly [source: string, target: string, bytesPerSecond: number])[];
}

/** Graphs in which the namespace is the workflow. */
export class FollowedGraphs implements GraphSource {
  readonly #options: FollowedOptions;
  costMs: (a: string, b: string) => number = () => 1;
  #pods: KubernetesObject[] = [];
  #timer: NodeJS.Timeout | null = null;
  #graphs: { readonly cluster: ClusterGraph; readonly workflow: WorkflowGraph } | null = null;

  constructor(options: FollowedOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    await this.refresh();
    const again = (): void => {
      this.#timer = setTimeout(
        () =>
          void this.refresh()
            .catch(() => undefined)
            .finally(again),
        POLL_MS,
      );
    };
    again();
  }

  stop(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    return Promise.resolve();
  }

  ready(): boolean {
    return this.#graphs !== null;
  }

  cluster(): ClusterGraph | null {
    return this.#graphs?.cluster ?? null;
  }

  workflow(namespace: string, name: string): WorkflowGraph | null {
    const { namespace: ours } = this.#options;
    return namespace === ours && name === ours ? (this.#graphs?.workflow ?? null) : null;
  }

  nodesOf(workload: string): string[] {
    return this.#running(workload).map((pod) => nodeNameOf(pod)!);
  }

  async refresh(): Promise<void> {
    const { cluster, namespace, zones, workloads, channels } = this.#options;
    this.#pods = await cluster.list("pods", { namespace });
    const snapshot = clusterGraph(
      Object.keys(zones).map((name) => ({ name })),
      this.costMs,
      WINDOW_SECONDS,
    );
    const workflow = workflowGraph({}, channels);
    this.#graphs = {
      cluster: new ClusterGraph({
        ...snapshot,
        nodes: snapshot.nodes.map((node) => ({ ...node, zone: zones[node.name]! })),
      }),
      workflow: new WorkflowGraph({
        ...workflow,
        namespace,
        name: namespace,
        workloads: workloads.map((name) => ({
          name,
          kind: "Deployment",
          namespace,
          cpuMillicores: null,
          memoryBytes: null,
          pods: this.#running(name).map((pod) => ({ name: pod.metadata.name, node: nodeNameOf(pod) })),
        })),
      }),
    };
  }

  #running(workload: string): KubernetesObject[] {
    return this.#pods.filter(
      (pod) =>
        pod.metadata.labels?.["app"] === workload &&
        pod.metadata.deletionTimestamp === undefined &&
        nodeNameOf(pod) !== null,
    );
  }
}

export interface RunningDescheduler {
  /** URL of the extender, with the path before the verbs. */
  readonly extenderUrl: string;
  readonly logger: MemoryLogger;
  report(): Promise<DeschedulerReport>;
  evictionDecisions(): Promise<Decision[]>;
  decisions(kind: Decision["kind"]): Promise<Decision[]>;
  metric(name: string, labels?: string): Promise<number>;
  stop(): Promise<void>;
}

/** Uses short intervals. Includes the planner except in `paper` mode. Resolves when it listens. */
export async function startDescheduler(
  kubeconfig: string,
  graphs: GraphSource,
  settings: Readonly<Record<string, unknown>> = {},
  scheduler: Readonly<Record<string, unknown>> = {},
  webhook: Readonly<Record<string, unknown>> = {},
): Promise<RunningDescheduler> {
  const sections = [schedulerPluginSettings, plannerSettings, deschedulerSettings, webhookSettings] as const;
  const config = loadSettings(sections, {
    env: {},
    overrides: {
      webhook,
      scheduler: { port: 0, replicaNamespace: "default", ...scheduler },
      planner: { enabled: true },
      descheduler: {
        mode: "evict",
        intervalMs: 1_000,
        rounds: 2,
        coolDownMs: 2_000,
        minPodAgeMs: 0,
        judgeAfterMs: 1_000,
        moveDeadlineMs: 60_000,
        ...settings,
      },
    },
  });
  const registry = createRegistry();
  const logger = new MemoryLogger();
  const surroundings = { clock: systemClock, random: systemRandom, logger };
  const store = createApiServerStore({
    ...surroundings,
    credentials: { kubeconfig },
    qps: 500,
    burst: 1_000,
  });
  const plugin = createSchedulerPlugin(config.scheduler, {
    ...surroundings,
    registry,
    store,
    ...(config.descheduler.mode === "paper" ? {} : { planner: config.planner }),
    descheduler: config.descheduler,
    ...(config.webhook.enabled ? { webhook: config.webhook } : {}),
    graphs,
  });
  await plugin.start();
  const { url } = plugin.address();
  const get = async <T>(path: string): Promise<T> => (await (await fetch(url + path)).json()) as T;
  const decisions = async (kind: Decision["kind"]): Promise<Decision[]> =>
    (await get<{ decisions: Decision[] }>(`/api/v1/decisions?kind=${kind}&limit=1000`)).decisions;
  return {
    logger,
    extenderUrl: url + config.scheduler.urlPrefix,
    report: () => get<DeschedulerReport>("/api/v1/descheduler"),
    evictionDecisions: () => decisions("eviction"),
    decisions,
    metric: async (name, labels) => sumOf(await registry.metrics(), name, labels),
    stop: async () => {
      await plugin.stop();
      store.close();
    },
  };
}

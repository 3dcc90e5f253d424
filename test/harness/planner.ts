// Runs the scheduler-plugin with its planner in process for tests on a real control plane.
import { createApiServerStore } from "@isochrone/kubernetes/api-server";
import { createRegistry, loadSettings, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import {
  createSchedulerPlugin,
  plannerSettings,
  schedulerPluginSettings,
  webhookSettings,
} from "@isochrone/scheduler-plugin";
import type { GraphSource } from "@isochrone/scheduler-plugin/testing";
import type { ClusterGraphSnapshot, Decision, WorkflowGraphSnapshot } from "@isochrone/topology";
import type { ControlPlane, NodeOptions, PodOptions } from "./control-plane/index.ts";
import { clusterGraph, sumOf, workflowGraph } from "./extender.ts";

export const PLACEMENT_GATE = "isochrone.dev/placement";

interface Plan {
  readonly workflow: string;
  readonly durationMs: number;
  readonly cost: { readonly total: number } | null;
  readonly pods: readonly {
    readonly name: string;
    readonly node: string | null;
    readonly reason: string | null;
  }[];
}

export interface RunningPlanner {
  readonly url: string;
  readonly logger: MemoryLogger;
  decisions(namespace: string, pod?: string): Promise<Decision[]>;
  plans(namespace: string): Promise<Plan[]>;
  metrics(): Promise<string>;
  sum(name: string, labels?: string): Promise<number>;
  stop(): Promise<void>;
}

export interface PlannerOptions {
  readonly kubeconfig: string;
  readonly graphUrl?: string;
  /** @default the graph API at `graphUrl` */
  readonly graphs?: GraphSource;
  readonly planner?: Readonly<Record<string, unknown>>;
  readonly scheduler?: Readonly<Record<string, unknown>>;
  readonly webhook?: Readonly<Record<string, unknown>>;
}

export async function startPlanner(options: PlannerOptions): Promise<RunningPlanner> {
  const { kubeconfig, graphUrl, graphs, planner = {}, scheduler = {}, webhook } = options;
  const config = loadSettings([schedulerPluginSettings, plannerSettings, webhookSettings], {
    env: {},
    overrides: {
      scheduler: {
        port: 0,
        ...(graphUrl === undefined ? {} : { graphUrl }),
        refreshMs: 100,
        replicaNamespace: "default",
        ...scheduler,
      },
      planner: { enabled: true, ...planner },
      webhook: { enabled: webhook !== undefined, ...webhook },
    },
  });
  const registry = createRegistry();
  const logger = new MemoryLogger();
  const surroundings = { clock: systemClock, random: systemRandom, logger };
  const storeOf = (qps: number, maxConnections: number) =>
    createApiServerStore({
      ...surroundings,
      credentials: { kubeconfig },
      qps,
      burst: 2 * qps,
      maxConnections,
    });
  const { writesPerSecond, concurrentWrites } = config.planner;
  const [store, landingStore] = [storeOf(100, 16), storeOf(writesPerSecond, concurrentWrites)];
  const plugin = createSchedulerPlugin(config.scheduler, {
    ...surroundings,
    registry,
    store,
    landingStore,
    planner: config.planner,
    webhook: config.webhook,
    ...(graphs === undefined ? {} : { graphs }),
  });
  await plugin.start();
  const { url } = plugin.address();
  const get = async <T>(path: string): Promise<T> => (await (await fetch(url + path)).json()) as T;
  return {
    url,
    logger,
    decisions: async (namespace, pod) => {
      const query = `namespace=${namespace}&limit=1000${pod === undefined ? "" : `&pod=${pod}`}`;
      return (await get<{ decisions: Decision[] }>(`/api/v1/decisions?${query}`)).decisions;
    },
    plans: async (namespace) =>
      (await get<{ plans: Plan[] }>(`/api/v1/plans?namespace=${namespace}&limit=1000`)).plans,
    metrics: () => registry.metrics(),
    sum: async (name, labels) => sumOf(await registry.metrics(), name, labels),
    stop: async () => {
      await plugin.stop();
      landingStore.close();
      store.close();
    },
  };
}

/** Eight nodes: 0 to 3 are near each other, and so are 4 to 7. */
export const SHOP_NODES: readonly (NodeOptions & { readonly name: string })[] = Array.from(
  { length: 8 },
  (_, index) => ({ name: `n${index}`, cpu: "4", zone: index < 4 ? "east" : "west" }),
);
const TRAFFIC = [
  ["web", "api", 100_000],
  ["api", "db", 500_000],
] as const;

/** web calls api, which calls db. `placed` gives existing nodes by workload. */
export function shopGraphs(
  namespace: string,
  placed: Readonly<Record<string, readonly string[]>> = {},
): { readonly cluster: ClusterGraphSnapshot; readonly workflow: WorkflowGraphSnapshot } {
  const workflow = workflowGraph({ web: [], api: [], db: [], ...placed }, TRAFFIC);
  const workloads = workflow.workloads.map((workload) => ({ ...workload, namespace }));
  return {
    cluster: clusterGraph(SHOP_NODES, twoRegionsMs),
    workflow: { ...workflow, namespace, name: namespace, workloads },
  };
}

function twoRegionsMs(a: string, b: string): number {
  const [first, second] = [Number(a.slice(1)), Number(b.slice(1))];
  return first < 4 === second < 4 ? 1 + Math.abs(first - second) : 80;
}

export function gated(
  namespace: string,
  workload: string,
  cpu = "100m",
  gates: readonly string[] = [PLACEMENT_GATE],
  spec: Readonly<Record<string, unknown>> = {},
): PodOptions {
  return {
    namespace,
    labels: { app: workload },
    requests: { cpu, memory: "64Mi" },
    schedulingGates: gates,
    spec: { terminationGracePeriodSeconds: 0, ...spec },
  };
}

export async function plannedNodes(running: RunningPlanner, namespace: string): Promise<Map<string, string>> {
  const plans = (await running.decisions(namespace)).filter(({ best }) => best !== null);
  return new Map(plans.toReversed().map(({ pod, best }) => [pod.name, best!]));
}

/** Returns the namespace's pods and their nodes, once the given number of pods has one. */
export function boundPods(
  cluster: ControlPlane,
  namespace: string,
  count: number,
  timeoutMs = 60_000,
): Promise<Map<string, string>> {
  return cluster.waitFor(
    "pods",
    (pods) => {
      const bound = pods.flatMap(({ metadata, spec }) => {
        const node = spec?.["nodeName"];
        return typeof node === "string" ? [[metadata.name, node] as const] : [];
      });
      return bound.length >= count ? new Map(bound) : null;
    },
    { namespace, timeoutMs },
  );
}

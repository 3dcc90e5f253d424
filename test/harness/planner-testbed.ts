// Shared by a describe: a control plane with the shop's nodes and a graph API.
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { startControlPlane } from "./control-plane/index.ts";
import type { ControlPlane } from "./control-plane/index.ts";
import { startGraphApi } from "./extender.ts";
import type { GraphApi } from "./extender.ts";
import { SHOP_NODES, shopGraphs, startPlanner } from "./planner.ts";
import type { PlannerOptions, RunningPlanner } from "./planner.ts";

/** Control plane components for the planner's tests. */
export const PLANNER_COMPONENTS = ["scheduler", "controller-manager", "kwok"] as const;

interface PlannerTestbed {
  /** Available from the first test on, like the fields below. */
  readonly cluster: ControlPlane;
  readonly graphs: GraphApi;
  readonly planner: (options?: Partial<PlannerOptions>) => Promise<RunningPlanner>;
  /** Creates a namespace with the shop's graphs; `placed` gives existing nodes by workload. */
  readonly begin: (namespace: string, placed?: Parameters<typeof shopGraphs>[1]) => Promise<void>;
}

export function plannerTestbed(): PlannerTestbed {
  let cluster: ControlPlane;
  let graphs: GraphApi;
  beforeAll(async () => {
    [cluster, graphs] = await Promise.all([
      startControlPlane({ components: PLANNER_COMPONENTS }),
      startGraphApi(),
    ]);
    await cluster.addNodes(SHOP_NODES);
  }, 120_000);
  afterAll(async () => {
    await graphs?.close();
    await cluster?.close();
  });
  return {
    get cluster() {
      return cluster;
    },
    get graphs() {
      return graphs;
    },
    planner: async (options = {}) => {
      const started = await startPlanner({
        kubeconfig: cluster.kubeconfig,
        graphUrl: graphs.url,
        ...options,
      });
      onTestFinished(() => started.stop().catch(() => undefined));
      return started;
    },
    begin: async (namespace, placed = {}) => {
      await cluster.createNamespace(namespace);
      graphs.say(shopGraphs(namespace, placed));
    },
  };
}

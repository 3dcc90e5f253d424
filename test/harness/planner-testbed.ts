// For all tests of a describe: a control plane with the shop's nodes and a graph API, on which each test
// starts planners of its own.
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { startControlPlane } from "./control-plane/index.ts";
import type { ControlPlane } from "./control-plane/index.ts";
import { startGraphApi } from "./extender.ts";
import type { GraphApi } from "./extender.ts";
import { SHOP_NODES, shopGraphs, startPlanner } from "./planner.ts";
import type { PlannerOptions, RunningPlanner } from "./planner.ts";

/** What the planner's tests need of a control plane. */
export const PLANNER_COMPONENTS = ["scheduler", "controller-manager", "kwok"] as const;

interface PlannerTestbed {
  /** This and the following from the first test on. */
  readonly cluster: ControlPlane;
  readonly graphs: GraphApi;
  /** Started, and stopped with the test. */
  readonly planner: (options?: Partial<PlannerOptions>) => Promise<RunningPlanner>;
  /** A namespace with the shop's graphs; `placed` by workload, where it has pods already. */
  readonly begin: (namespace: string, placed?: Parameters<typeof shopGraphs>[1]) => Promise<void>;
}

/** To be called in the describe. */
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

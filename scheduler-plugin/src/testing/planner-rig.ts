// The whole planner on a memory store and a manual clock; the test plays kube-scheduler.
import { KINDS, PLACEMENT_GATE, PLANNER_LEASE } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject, StoreError } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import type { ManualClock } from "@isochrone/runtime/testing";
import type { Decision } from "@isochrone/topology";
import { beforeEach, onTestFinished } from "vitest";
import { deschedulerSettings } from "../descheduler/decision/settings.ts";
import type { DeschedulerMode } from "../descheduler/decision/settings.ts";
import { plannerSettings } from "../planner/settings.ts";
import { createSchedulerPlugin } from "../service.ts";
import type { SchedulerPlugin } from "../service.ts";
import { memberOf } from "./appgroup-rig.ts";
import { MemoryGraphs } from "./graphs.ts";
import { configOf, rigClock } from "./rig.ts";

export const NAMESPACE = "shop";

interface Started {
  readonly plugin: SchedulerPlugin;
  readonly metric: (line: string) => Promise<number>;
}

interface PlannerRig {
  readonly clock: ManualClock;
  readonly store: ClusterStore;
  readonly graphs: MemoryGraphs;
  /** Error of pod patches from now on; null: they succeed. */
  readonly refuse: (error: StoreError | null) => void;
  readonly node: (name: string, cpu?: string) => KubernetesObject;
  /** Stopped with the test. @param mode of the descheduler, whose first run is an hour away */
  readonly start: (planner?: Readonly<Record<string, unknown>>, mode?: DeschedulerMode) => Promise<Started>;
  readonly gated: (
    name: string,
    workload?: string,
    cpu?: string,
    spec?: Readonly<Record<string, unknown>>,
  ) => Promise<KubernetesObject>;
  readonly read: (name: string) => Promise<KubernetesObject>;
  readonly nominated: (name: string) => Promise<unknown>;
  readonly gates: (name: string) => Promise<unknown>;
  readonly bind: (name: string, to: string) => Promise<void>;
  readonly decisionOf: (plugin: SchedulerPlugin, name: string) => Promise<Decision>;
  readonly leaseTime: () => Promise<unknown>;
}

/** Call in the describe block: three nodes and the graphs of `MemoryGraphs`. */
export function plannerRig(): PlannerRig {
  let clock: ManualClock;
  let store: ClusterStore;
  let graphs: MemoryGraphs;
  let refusal: StoreError | null;

  beforeEach(async () => {
    clock = rigClock();
    store = createMemoryStore({ clock });
    graphs = new MemoryGraphs();
    refusal = null;
    for (const name of ["n1", "n2", "n3"]) await store.create(node(name));
  });

  const node = (name: string, cpu = "4"): KubernetesObject => ({
    ...KINDS.node,
    metadata: { name, labels: { "kubernetes.io/hostname": name } },
    status: {
      allocatable: { cpu, memory: "8Gi", pods: "110" },
      conditions: [{ type: "Ready", status: "True" }],
    },
  });

  const start = async (
    planner: Readonly<Record<string, unknown>> = {},
    mode: DeschedulerMode = "off",
  ): Promise<Started> => {
    const registry = createRegistry();
    const refusing = new Proxy(store, {
      get: (target, name) =>
        (name === "patch" || name === "jsonPatch") && refusal !== null
          ? (ref: { kind: string }, ...rest: unknown[]) =>
              ref.kind === "Pod"
                ? Promise.reject(refusal!)
                : (memberOf(target, name) as (...all: unknown[]) => unknown)(ref, ...rest)
          : memberOf(target, name),
    });
    const loaded = loadSettings([plannerSettings, deschedulerSettings], {
      env: {},
      overrides: {
        // Nodes with the traffic are used to 80 % and more.
        planner: { enabled: true, maxCpuUse: 0, ...planner },
        descheduler: { mode, intervalMs: 3_600_000 },
      },
    });
    const plugin = createSchedulerPlugin(configOf({ podEvents: false }), {
      clock,
      random: seededRandom(1),
      logger: new MemoryLogger(),
      registry,
      graphs,
      store: refusing,
      ...loaded,
    });
    await plugin.start();
    onTestFinished(async () => {
      const stopped = plugin.stop();
      await clock.advance(20_000);
      await stopped;
    });
    const metric = async (line: string): Promise<number> => {
      const found = (await registry.metrics()).split("\n").find((each) => each.startsWith(line));
      return Number(found?.split(" ").at(-1) ?? 0);
    };
    return { plugin, metric };
  };

  const gated = (
    name: string,
    workload = "p",
    cpu = "100m",
    spec: Readonly<Record<string, unknown>> = {},
  ): Promise<KubernetesObject> =>
    store.create({
      ...KINDS.pod,
      metadata: { namespace: NAMESPACE, name, labels: { app: workload, "isochrone.dev/workflow": "flow" } },
      spec: {
        schedulingGates: [{ name: PLACEMENT_GATE }],
        containers: [{ name: "main", image: "none", resources: { requests: { cpu } } }],
        ...spec,
      },
    });
  const read = async (name: string): Promise<KubernetesObject> =>
    (await store.get({ ...KINDS.pod, namespace: NAMESPACE, name }))!;
  const nominated = async (name: string): Promise<unknown> =>
    (await read(name)).status?.["nominatedNodeName"];
  const gates = async (name: string): Promise<unknown> => (await read(name)).spec?.["schedulingGates"];
  const bind = (name: string, to: string): Promise<void> => store.bind({ namespace: NAMESPACE, name }, to);
  const decisionOf = async ({ app }: SchedulerPlugin, name: string): Promise<Decision> =>
    (await app.inject(`/api/v1/decisions?kind=plan&pod=${name}&limit=1`)).json<{ decisions: Decision[] }>()
      .decisions[0]!;
  const leaseTime = async (): Promise<unknown> =>
    (await store.get({ ...KINDS.lease, namespace: "isochrone", name: PLANNER_LEASE }))?.spec?.["renewTime"];

  return {
    get clock() {
      return clock;
    },
    get store() {
      return store;
    },
    get graphs() {
      return graphs;
    },
    refuse: (error) => {
      refusal = error;
    },
    node,
    start,
    gated,
    read,
    nominated,
    gates,
    bind,
    decisionOf,
    leaseTime,
  };
}

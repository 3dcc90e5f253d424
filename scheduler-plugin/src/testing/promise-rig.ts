// Node promises at admission, on a model of six nodes in two zones.
import { KINDS } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { links, node } from "@isochrone/placement/testing";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { loadSettings, seededRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { onTestFinished } from "vitest";
import { DecisionLog } from "../domain/decision-log.ts";
import { ZoneWishes } from "../dispatch/replicas/zone-wishes.ts";
import { Ledger } from "../domain/ledger.ts";
import { PlanLog } from "../domain/plan-log.ts";
import { MemoryGraphs } from "./graphs.ts";
import { rigClock } from "./rig.ts";
import { ClusterModel } from "../planner/cluster-model.ts";
import { PlanSearch } from "../planner/adapters/plan-search.ts";
import { UpcomingWorkloads } from "../planner/adapters/upcoming-workloads.ts";
import { GatedWorkflows } from "../planner/gated-workflows.ts";
import { PlannerReports } from "../planner/reports.ts";
import { plannerSettings } from "../planner/settings.ts";
import { JointPlans } from "../planner/promises/joint-plans.ts";
import { PodPromises } from "../planner/promises/pod-promises.ts";
import type { AskedPod, PromisedNodes } from "../planner/promises/pod-promises.ts";

export const NAMES = ["n1", "n2", "n3", "n4", "n5", "n6"];
export const AMONG = "isochrone.dev/planned-among";

export const nodeObject = (name: string, index: number): KubernetesObject => ({
  ...KINDS.node,
  metadata: {
    name,
    labels: {
      "kubernetes.io/hostname": name,
      "topology.kubernetes.io/zone": index < 3 ? "west" : "east",
      disk: index % 2 === 0 ? "ssd" : "hdd",
    },
  },
  status: {
    allocatable: { cpu: "4", memory: "8Gi", pods: "110" },
    conditions: [{ type: "Ready", status: "True" }],
  },
});

interface PodFields {
  readonly workload?: string;
  readonly cpu?: string;
  readonly spec?: object;
  readonly metadata?: object;
}

export const asked = ({
  workload: of = "p",
  cpu = "100m",
  spec,
  metadata,
}: PodFields = {}): KubernetesObject =>
  ({
    ...KINDS.pod,
    metadata: {
      namespace: "shop",
      generateName: `${of}-5d4f-`,
      labels: { "isochrone.dev/workflow": "flow", "pod-template-hash": "5d4f" },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: `${of}-5d4f`, uid: of, controller: true },
      ],
      ...metadata,
    },
    spec: { containers: [{ name: "main", image: "none", resources: { requests: { cpu } } }], ...spec },
  }) as unknown as KubernetesObject;

export const shown = (pod: KubernetesObject, name: string, promised: PromisedNodes): KubernetesObject => ({
  ...pod,
  metadata: { ...pod.metadata, name, uid: name, annotations: promised.annotations },
  spec: { ...pod.spec, affinity: promised.affinity },
});

export function promiseRig(settings: Readonly<Record<string, unknown>> = {}) {
  const clock = rigClock();
  const graphs = new MemoryGraphs();
  graphs.setCluster({
    version: 1,
    observedAt: new Date(clock.now()).toISOString(),
    windowSeconds: 30,
    nodes: NAMES.map((name) => node(name, 4_000, 8e9)),
    links: links(
      ...NAMES.flatMap((a, from) =>
        NAMES.slice(from + 1).map((b, step): [string, string, number] => [a, b, 10 * (step + 1)]),
      ),
    ),
  });
  let listed = 0;
  const model = new ClusterModel({
    isSynced: true,
    lists: () => {
      listed++;
      return {
        nodes: NAMES.map(nodeObject),
        namespaces: [],
        persistentVolumes: [],
        persistentVolumeClaims: [],
        csiNodes: [],
        volumeAttachments: [],
      };
    },
  });
  const ledger = new Ledger(60_000);
  let ids = 0;
  const newId = (): string => `id-${++ids}`;
  const decisions = new DecisionLog(1_000);
  const reports = new PlannerReports({
    decisions,
    plans: new PlanLog(10),
    ledger,
    events: null,
    landing: "required-affinity",
    newId,
    clock,
  });
  const around = { isMoving: false, mayBind: true, isAsking: true };
  const wishes = new ZoneWishes();
  const config = loadSettings([plannerSettings], {
    env: {},
    overrides: { planner: { enabled: true, maxCpuUse: 0, minNodes: 1, minZones: 1, ...settings } },
  }).planner;
  const common = { config, bytesPerRequest: 1_000, graphs, model, ledger, wishes, clock };
  const logger = new MemoryLogger();
  const store = createMemoryStore({ clock });
  const upcoming = new UpcomingWorkloads({
    store,
    clock,
    random: seededRandom(1),
    logger,
    maxPods: config.maxPods,
  });
  const gated = new GatedWorkflows(config);
  const search = new PlanSearch({ clock });
  const joint = new JointPlans({
    ...common,
    upcoming,
    gated,
    isAsking: () => around.isAsking,
    search,
    logger,
  });
  onTestFinished(async () => {
    const stopped = Promise.all([joint.stop(), upcoming.stop(), search.close()]);
    await clock.advance(1_000);
    await stopped;
  });
  const promises = new PodPromises({
    ...common,
    stranded: { mayBind: () => around.mayBind },
    joint,
    reports,
    isMoving: () => around.isMoving,
    newId,
    cpuMs: () => clock.monotonic(),
  });
  const bind = (name: string, of: string, to: string, metadata: object = {}): void =>
    model.takePod(
      {
        type: "added",
        object: {
          ...asked({ workload: of }),
          metadata: { ...asked({ workload: of }).metadata, name, uid: name, ...metadata },
          spec: { ...asked().spec, nodeName: to },
        },
      },
      false,
    );
  bind("q-1", "q", "n2");
  bind("r-1", "r", "n3");
  const promise = (pod: KubernetesObject, more: Partial<AskedPod> = {}): PromisedNodes | null =>
    promises.promise({ pod, appGroup: null, isDryRun: false, ...more });
  const nodesOf = (pod: KubernetesObject): string[] | null =>
    promise(pod)?.annotations[AMONG]?.split(",") ?? null;
  return {
    clock,
    graphs,
    model,
    ledger,
    decisions,
    promises,
    promise,
    nodesOf,
    around,
    bind,
    wishes,
    store,
    gated,
    listed: () => listed,
  };
}

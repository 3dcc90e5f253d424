// Wait until a plan has released all pods, and its CPU time. Includes `planner.settleMs`. `--rounds=N`.
import { setTimeout as sleep } from "node:timers/promises";
import { KINDS, PLACEMENT_GATE, hasOurGate } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { defaultMatrix } from "@isochrone/lab/testing";
import type { PlanProblem } from "@isochrone/placement";
import { randomProblem, siteProblem } from "@isochrone/placement/planner-testing";
import { median } from "@isochrone/primitives";
import { createRegistry, loadSettings, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { createSchedulerPlugin, plannerSettings, schedulerPluginSettings } from "@isochrone/scheduler-plugin";
import type { GraphSource } from "@isochrone/scheduler-plugin/testing";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { ClusterGraphSnapshot, Link } from "@isochrone/topology";
import type { BenchResult } from "../types.ts";
import { linkOf } from "./landing/testbed.ts";

const ROUNDS = Number(process.argv.find((each) => each.startsWith("--rounds="))?.slice(9) ?? 5);
const WAIT_MS = 30_000;
/** Graphs must not be older than three windows. */
const WINDOW_SECONDS = 3_600;

interface Landed {
  readonly ms: number;
  readonly cpuMs: number;
  readonly cost: number;
}

export async function run(): Promise<BenchResult[]> {
  const matrix = defaultMatrix();
  const random = (pods: number, nodes: number) => (seed: number) =>
    randomProblem(seed, { pods, nodes, zones: 6, constraints: 0 });
  return [
    ...(await landings("27 pods on 9 nodes", (seed) => siteProblem(1 + (seed % 11), matrix))),
    ...(await landings("20 pods on 100 nodes", random(20, 100))),
    ...(await landings("100 pods on 50 nodes", random(100, 50))),
    ...(await landings("100 pods on 1,000 nodes", random(100, 1_000))),
  ];
}

async function landings(name: string, problemOf: (seed: number) => PlanProblem): Promise<BenchResult[]> {
  const landed: Landed[] = [];
  // The first round starts the thread and compiles.
  for (let round = 0; round <= ROUNDS; round++) {
    const each = await landing(problemOf(round + 1));
    if (round > 0) landed.push(each);
    if (process.argv.includes("--each")) console.error(name, JSON.stringify(each));
  }
  const of = (what: keyof Landed): number => median(landed.map((each) => each[what]))!;
  return [
    { name: `${name}: from the first pod to the last release, median`, value: of("ms"), unit: "ms" },
    { name: `${name}: CPU time of the process, median`, value: of("cpuMs"), unit: "ms" },
  ];
}

/** Lands the pods twice and measures the second time, when the thread's code is compiled. */
async function landing(problem: PlanProblem): Promise<Landed> {
  const store = createMemoryStore({ clock: systemClock });
  for (const node of problem.nodes) await store.create(nodeOf(node));
  const { planner, scheduler } = loadSettings([plannerSettings, schedulerPluginSettings], {
    env: {},
    overrides: { planner: { enabled: true }, scheduler: { port: 0, podEvents: false } },
  });
  const plugin = createSchedulerPlugin(scheduler, {
    clock: systemClock,
    random: systemRandom,
    logger: new MemoryLogger(),
    registry: createRegistry(),
    graphs: new ProblemGraphs(problem),
    store,
    planner,
  });
  await plugin.start();
  try {
    // Wait until the thread has loaded its code.
    await sleep(1_500);
    await measured(store, problem, "warm-up");
    const before = process.cpuUsage();
    const ms = await measured(store, problem, "measured");
    const { user, system } = process.cpuUsage(before);
    const { plans } = (await plugin.app.inject("/api/v1/plans?limit=1")).json<{
      plans: { cost: { total: number } | null }[];
    }>();
    return { ms, cpuMs: (user + system) / 1_000, cost: plans[0]?.cost?.total ?? Number.NaN };
  } finally {
    await plugin.stop();
  }
}

async function measured(store: ClusterStore, problem: PlanProblem, run: string): Promise<number> {
  const pods = problem.pods.map((_, index) => podOf(problem, index, run));
  const beganMs = performance.now();
  for (const pod of pods) await store.create(pod);
  for (const { metadata } of pods) {
    const ref = { ...KINDS.pod, namespace: metadata.namespace!, name: metadata.name };
    while (hasOurGate((await store.get(ref))!)) {
      if (performance.now() - beganMs > WAIT_MS) throw new Error(`${ref.name} was not released`);
      await sleep(1);
    }
  }
  const ms = performance.now() - beganMs;
  for (const { metadata } of pods)
    await store.delete({ ...KINDS.pod, namespace: metadata.namespace!, name: metadata.name });
  await sleep(100);
  return ms;
}

function nodeOf({ name, zone, region, free }: PlanProblem["nodes"][number]): KubernetesObject {
  const [cpu = 0, memory = 0, pods = 110] = free;
  return {
    ...KINDS.node,
    metadata: {
      name,
      labels: {
        "kubernetes.io/hostname": name,
        ...(zone === null ? {} : { "topology.kubernetes.io/zone": zone }),
        ...(region === null ? {} : { "topology.kubernetes.io/region": region }),
      },
    },
    status: {
      allocatable: { cpu: `${Math.ceil(cpu)}m`, memory: `${Math.ceil(memory)}`, pods: `${pods}` },
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

function podOf({ pods, workflow }: PlanProblem, index: number, run: string): KubernetesObject {
  const { workload, demand } = pods[index]!;
  const [cpu = 0, memory = 0] = demand;
  const owner = `${workload ?? "alone"}-5d4f`;
  return {
    ...KINDS.pod,
    metadata: {
      namespace: workflow.namespace,
      name: `${run}-${workload ?? "alone"}-${index}`,
      labels: {
        app: workload ?? "alone",
        "isochrone.dev/workflow": workflow.name,
        "pod-template-hash": "5d4f",
      },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: owner, uid: owner, controller: true },
      ],
    },
    spec: {
      schedulingGates: [{ name: PLACEMENT_GATE }],
      containers: [
        {
          name: "main",
          image: "none",
          resources: { requests: { cpu: `${Math.round(cpu)}m`, memory: `${memory}` } },
        },
      ],
    },
  };
}

/** Measured links per node of a large cluster; others are estimated from zones. */
const MEASURED_PEERS = 16;

function linksOf(cluster: ClusterGraph): Link[] {
  const { nodes } = cluster;
  const step = Math.max(1, Math.floor(nodes.length / MEASURED_PEERS));
  return nodes.flatMap((a, from) =>
    nodes.flatMap((b, to) => {
      const ms = (from - to) % step === 0 && from !== to ? cluster.costMsById(from, to) : Number.NaN;
      return ms > 0 ? [linkOf(a.name, b.name, ms, cluster.observedAt)] : [];
    }),
  );
}

class ProblemGraphs implements GraphSource {
  readonly #snapshot: ClusterGraphSnapshot;
  readonly #cluster: ClusterGraph;
  readonly #workflow: WorkflowGraph;

  constructor({ cluster, workflow }: PlanProblem) {
    const fresh = { observedAt: new Date().toISOString(), windowSeconds: WINDOW_SECONDS };
    this.#snapshot = { version: 1, nodes: [...cluster.nodes], links: linksOf(cluster), ...fresh };
    this.#cluster = new ClusterGraph(this.#snapshot);
    this.#cluster.prepare();
    const { version, namespace, name, workloads, channels } = workflow;
    this.#workflow = new WorkflowGraph({
      version,
      namespace,
      name,
      observedAt: fresh.observedAt,
      workloads: [...workloads],
      channels: [...channels],
    });
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  cluster(): ClusterGraph {
    return this.#cluster;
  }

  clusterSnapshot(): ClusterGraphSnapshot {
    return this.#snapshot;
  }

  workflow(namespace: string, name: string): WorkflowGraph | null {
    const { namespace: own, name: called } = this.#workflow;
    return namespace === own && name === called ? this.#workflow : null;
  }

  ready(): boolean {
    return true;
  }
}

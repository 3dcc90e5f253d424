// The descheduler's term on a memory store and a manual clock: web talks to db, which doesn't move.
import { KINDS, PLACEMENT_GATE, PLANNER_LEASE } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createStrategy } from "@isochrone/placement";
import { createRegistry, loadSettings } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { Workload } from "@isochrone/topology";
import { MemoryAnnotation } from "../descheduler/memory-annotation.ts";
import { profileOf } from "../domain/strategy-profile.ts";
import type { MoveProgress } from "../descheduler/move-progress.ts";
import { deschedulerSettings } from "../descheduler/decision/settings.ts";
import type { ClusterLists } from "../descheduler/decision/survey.ts";
import { createDeschedulerTerm } from "./term-alone.ts";
import type { DeschedulerAlone } from "./term-alone.ts";
import { schedulerPluginSettings } from "../settings.ts";
import { plannerSettings } from "../planner/settings.ts";
import { spreadLimits } from "../planner/spread.ts";

const START = Date.parse("2026-01-01T00:00:00Z");
export const MINUTE = 60_000;

const ZONES: Readonly<Record<string, string>> = {
  a1: "za",
  a2: "za",
  b1: "zb",
  b2: "zb",
  c1: "zc",
  c2: "zc",
};

const LINK = {
  method: "udp_rr",
  ipFamily: 4,
  rttMs: { p50: null, p90: null, p99: null, mean: null, count: 30 },
  lossRatio: 0,
  jitterMs: null,
  bandwidthBitsPerSecond: { capacity: null, achieved: null, available: null },
  errorMs: 0,
  origin: "measured",
  provisional: false,
  ageSeconds: 0,
} as const;

export class DeschedulerRig {
  readonly clock = new ManualClock(START);
  readonly store: ClusterStore = createMemoryStore({ clock: this.clock });
  readonly logger = new MemoryLogger({ clock: this.clock });
  readonly registry = createRegistry();
  readonly progress: MoveProgress[] = [];
  term: DeschedulerAlone;
  readonly #begin: () => DeschedulerAlone;
  /** From za to zb and to zc. */
  farMs = { zb: 50, zc: 5 };
  graphAgeMs = 0;
  errorMs = 0;
  /** Millicores per pod by workload; unnamed ones are unknown. */
  useOf: Readonly<Record<string, number>> = {};
  ghosts: { readonly name: string; readonly node: string }[] = [];
  /** `Recreate` evicts first; nothing here creates replacements. */
  strategy: "Recreate" | "RollingUpdate" = "Recreate";
  far: Workload | null = null;
  #created = 0;
  #isFirst = true;
  #lists: ClusterLists = EMPTY;

  constructor(
    settings: Readonly<Record<string, unknown>> = {},
    through?: (store: ClusterStore) => ClusterStore,
    planner: Readonly<Record<string, unknown>> = {},
    scheduler: Readonly<Record<string, unknown>> = {},
  ) {
    const loaded = loadSettings([deschedulerSettings, plannerSettings, schedulerPluginSettings], {
      env: {},
      overrides: {
        descheduler: { mode: "evict", rounds: 1, ...settings },
        planner,
        scheduler,
      },
    });
    const { clock, logger } = this;
    this.#begin = () =>
      createDeschedulerTerm({
        config: loaded.descheduler,
        spread: spreadLimits(loaded.planner),
        store: through === undefined ? this.store : through(this.store),
        lists: () => this.#lists,
        graphs: { cluster: () => this.#cluster(), workflow: () => this.#workflow() },
        keeper: new MemoryAnnotation(this.store, "isochrone"),
        bytesPerRequest: 0,
        scoring: { strategy: createStrategy(profileOf(loaded.scheduler)), usageHeadroom: false },
        onMove: (progress) => void this.progress.push(progress),
        clock,
        logger,
        registry: this.#isFirst ? this.registry : createRegistry(),
      });
    this.term = this.#begin();
    this.#isFirst = false;
  }

  async keepMemory(): Promise<void> {
    await this.store.create({ ...KINDS.lease, metadata: { namespace: "isochrone", name: PLANNER_LEASE } });
  }

  async lease(): Promise<KubernetesObject> {
    return (await this.store.get({ ...KINDS.lease, namespace: "isochrone", name: PLANNER_LEASE }))!;
  }

  /** Kills the leader and starts another; metrics stay the first one's. */
  replaceLeader(): void {
    this.term = this.#begin();
  }

  /** web on a1 and b1, db on a1 and a2, one hour old. */
  async begin(): Promise<void> {
    for (const [name, zone] of Object.entries(ZONES)) await this.store.create(nodeOf(name, zone));
    for (const [name, nodes, gated] of [
      ["web", ["a1", "b1"], true],
      ["db", ["a1", "a2"], false],
    ] as const) {
      const deployment = await this.store.create(deploymentOf(name, this.strategy));
      await this.store.create(replicaSetOf(deployment, gated));
      for (const node of nodes) await this.addPod(name, node);
    }
    await this.clock.advance(60 * MINUTE);
  }

  async addPod(workload: string, node: string, ready = true): Promise<string> {
    const name = `${workload}-1-${this.#created++}`;
    const owner = (await this.replicaSet(workload))!;
    await this.store.create(podOf(name, workload, owner.metadata.uid!, node, ready));
    return name;
  }

  async run(): Promise<void> {
    await this.look();
    await this.term.run();
  }

  async look(): Promise<void> {
    const of = async (kind: Parameters<ClusterStore["list"]>[0]): Promise<KubernetesObject[]> =>
      (await this.store.list(kind)).items;
    this.#lists = {
      ...EMPTY,
      pods: await of(KINDS.pod),
      nodes: await of(KINDS.node),
      replicaSets: await of(KINDS.replicaSet),
      deployments: await of(KINDS.deployment),
    };
  }

  replicaSet(workload: string): Promise<KubernetesObject | null> {
    return this.store.get({ ...KINDS.replicaSet, namespace: "shop", name: `${workload}-1` });
  }

  async nodesOf(workload: string): Promise<string[]> {
    const { items } = await this.store.list(KINDS.pod, { namespace: "shop", labels: { app: workload } });
    return items.map(({ spec }) => String(spec?.["nodeName"])).sort();
  }

  decisions(): Record<string, string> {
    return Object.fromEntries(
      this.term.report.pods.map(({ name, decision }) => [name.replace(/-1-/, "-"), decision]),
    );
  }

  async metric(name: string, labels = ""): Promise<number> {
    const lines = (await this.registry.metrics()).split("\n");
    const line = lines.find((text) => text.startsWith(`${name}${labels} `));
    return Number(line?.split(" ").at(-1) ?? Number.NaN);
  }

  #cluster(): ClusterGraph {
    const names = Object.keys(ZONES);
    const costMs = (a: string, b: string): number => {
      const [x, y] = [ZONES[a]!, ZONES[b]!];
      if (x === y) return 1;
      return [x, y].includes("zb") ? this.farMs.zb : this.farMs.zc;
    };
    const observedAt = this.#observedAt();
    return new ClusterGraph({
      version: 1,
      observedAt,
      windowSeconds: 60,
      nodes: names.map((name) => ({
        ...NODE,
        name,
        zone: ZONES[name]!,
        availableCpuMillicores: this.#availableOn(name),
      })),
      links: names.flatMap((source) =>
        names
          .filter((target) => target !== source)
          .map((target) => ({
            ...LINK,
            source,
            target,
            observedAt,
            costMs: costMs(source, target),
            errorMs: this.errorMs,
          })),
      ),
    });
  }

  #availableOn(node: string): number | null {
    if (Object.keys(this.useOf).length === 0) return null;
    const used = this.#lists.pods
      .filter(({ spec }) => spec?.["nodeName"] === node)
      .map(({ metadata }) => this.useOf[metadata.labels?.["app"] ?? ""] ?? 0);
    return used.reduce((left, use) => left - use, NODE.allocatableCpuMillicores);
  }

  #workflow(): WorkflowGraph {
    const workload = (name: string) => ({
      name,
      kind: "Deployment",
      namespace: "shop",
      cpuMillicores: this.useOf[name] ?? null,
      memoryBytes: null,
      pods: this.#lists.pods
        .filter(({ metadata }) => metadata.labels?.["app"] === name)
        .map(({ metadata, spec }) => ({ name: metadata.name, node: String(spec?.["nodeName"]) })),
    });
    const web = workload("web");
    return new WorkflowGraph({
      version: 1,
      observedAt: this.#observedAt(),
      namespace: "shop",
      name: "flow",
      workloads: [
        { ...web, pods: [...web.pods, ...this.ghosts] },
        workload("db"),
        ...(this.far === null ? [] : [this.far]),
      ],
      channels: [
        {
          source: "web",
          target: "db",
          bytesPerSecond: 1e6,
          requestsPerSecond: null,
          errorRatio: null,
          priority: null,
          maxNetworkCost: null,
          minBandwidthBitsPerSecond: null,
          origin: "observed",
          ageSeconds: 0,
        },
      ],
    });
  }

  #observedAt(): string {
    return new Date(this.clock.now() - this.graphAgeMs).toISOString();
  }
}

const EMPTY: ClusterLists = {
  pods: [],
  nodes: [],
  namespaces: [],
  replicaSets: [],
  deployments: [],
  statefulSets: [],
  persistentVolumes: [],
  persistentVolumeClaims: [],
  csiNodes: [],
  volumeAttachments: [],
};

const NODE = {
  region: null,
  segment: null,
  ready: true,
  cordoned: false,
  allocatableCpuMillicores: 8_000,
  allocatableMemoryBytes: 64e9,
  availableCpuMillicores: null,
  availableMemoryBytes: null,
  coordinate: null,
  usageAgeSeconds: null,
} as const;

function nodeOf(name: string, zone: string): KubernetesObject {
  const labels = { "kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone };
  const conditions = [{ type: "Ready", status: "True" }];
  const status = { allocatable: { cpu: "8", memory: "64Gi", pods: "110" }, conditions };
  return { ...KINDS.node, metadata: { name, labels }, spec: {}, status };
}

function deploymentOf(name: string, type: string): KubernetesObject {
  return {
    ...KINDS.deployment,
    metadata: { name, namespace: "shop" },
    spec: { replicas: 2, strategy: { type } },
    status: { replicas: 2, updatedReplicas: 2, readyReplicas: 2 },
  };
}

function replicaSetOf({ metadata: { name, uid } }: KubernetesObject, gated: boolean): KubernetesObject {
  const owner = { ...KINDS.deployment, name, uid: uid!, controller: true };
  const spec = { containers: CONTAINERS, ...(gated ? { schedulingGates: [{ name: PLACEMENT_GATE }] } : {}) };
  const labels = labelsOf(name);
  const selector = { matchLabels: { app: name, "pod-template-hash": "1" } };
  return {
    ...KINDS.replicaSet,
    metadata: { name: `${name}-1`, namespace: "shop", ownerReferences: [owner] },
    spec: { replicas: 2, selector, template: { metadata: { labels }, spec } },
    status: { replicas: 2, readyReplicas: 2 },
  };
}

const CONTAINERS = [{ name: "app", image: "app", resources: { requests: { cpu: "1", memory: "1Gi" } } }];

function labelsOf(workload: string): Record<string, string> {
  return { app: workload, "pod-template-hash": "1", "isochrone.dev/workflow": "flow" };
}

function podOf(
  name: string,
  workload: string,
  uid: string,
  nodeName: string,
  ready: boolean,
): KubernetesObject {
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: `${workload}-1`, uid, controller: true };
  return {
    ...KINDS.pod,
    metadata: { name, namespace: "shop", labels: labelsOf(workload), ownerReferences: [owner] },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: 0,
      containers: CONTAINERS,
    },
    status: { phase: "Running", conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  };
}

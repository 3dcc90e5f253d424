// The real planner with Deployments in rolling update by Kubernetes' defaults: 25 % surge, 25 % unavailable.
// The rig plays their controller, the webhook, kube-scheduler, kubelets and aggregator.
import { hasOurGate, KINDS, PLACEMENT_GATE, SharedLeadership } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { parseMillicores } from "@isochrone/primitives";
import { createRegistry, loadSettings, seededRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import type { ManualClock } from "@isochrone/runtime/testing";
import { onTestFinished } from "vitest";
import { ClusterObjects } from "../adapters/cluster-objects.ts";
import { ClusterPods } from "../adapters/cluster-pods.ts";
import { ZoneWishes } from "../dispatch/replicas/zone-wishes.ts";
import { DecisionLog } from "../domain/decision-log.ts";
import { Ledger } from "../domain/ledger.ts";
import { PlanLog } from "../domain/plan-log.ts";
import { plannerPod } from "../planner/adapters/planner-pods.ts";
import { planTools } from "../planner/plan-tools.ts";
import { createPlanner } from "../planner/planner.ts";
import { plannerSettings } from "../planner/settings.ts";
import { MemoryGraphs } from "./graphs.ts";
import { rigClock } from "./rig.ts";
import {
  clusterSnapshot,
  CPU,
  fieldsOf,
  HASH,
  isNewest,
  isOf,
  isReady,
  labelsOf,
  NAMESPACE,
  nodeObject,
  nodeOf,
  NODES,
  openTo,
  overBestOf,
  podSpec,
  READY,
  snapshotOf,
  workloadOf,
} from "./rollout-objects.ts";
import type { Channels, OverBest } from "./rollout-objects.ts";

const STEP_MS = 100;

interface RolloutOptions {
  readonly channels: Channels;
  readonly replicas: number;
  readonly at: (workload: string, replica: number) => string;
  /** Steps between two graphs. @default 1 */
  readonly graphSteps?: number;
  /** Steps that a terminating pod takes. @default 20 */
  readonly graceSteps?: number;
  /** CPU of each node; "4" is room for eight pods. @default "32" */
  readonly nodeCpu?: string;
}

interface Version {
  readonly name: string;
  readonly hash: string;
}

interface RolloutRig {
  readonly clock: ManualClock;
  readonly store: ClusterStore;
  readonly restart: (...workloads: readonly string[]) => Promise<void>;
  readonly patch: (workload: string, change: Readonly<Record<string, unknown>>) => Promise<void>;
  readonly drain: (node: string) => Promise<void>;
  readonly gaveUp: (workload: string) => Promise<void>;
  readonly breaks: (workload: string) => void;
  readonly steps: (count: number) => Promise<void>;
  readonly settled: () => Promise<void>;
  readonly pods: () => Promise<KubernetesObject[]>;
  readonly placement: () => Promise<Record<string, string[]>>;
  /**
   * Cost of the placement relative to the best plan for these workloads while the others stay.
   * @param workloads @default all
   */
  readonly overBest: (...workloads: readonly string[]) => Promise<OverBest>;
}

export async function rolloutRig(options: RolloutOptions): Promise<RolloutRig> {
  const { channels, replicas, at, graphSteps = 1, graceSteps = 20, nodeCpu = "32" } = options;
  const workloads = [...new Set(channels.flatMap(([from, to]) => [from, to]))];
  const clock = rigClock();
  const store = createMemoryStore({ clock });
  const logger = new MemoryLogger();
  const random = seededRandom(1);
  const broken = new Set<string>();
  const deletedAt = new Map<string, number>();
  let [step, made] = [0, 0];

  for (const name of NODES) await store.create(nodeObject(name, nodeCpu));
  await store.create({
    ...KINDS.namespace,
    metadata: { name: NAMESPACE, labels: { "isochrone.dev/placement": "enabled" } },
  });
  const graphs = new MemoryGraphs();
  graphs.setCluster(clusterSnapshot(clock.now()));
  const config = loadSettings([plannerSettings], {
    env: {},
    overrides: { planner: { enabled: true, maxCpuUse: 0 } },
  }).planner;
  const around = { store, clock, random, logger };
  const pods = new ClusterPods({ ...around, trim: plannerPod });
  await pods.start();
  const leadership = new SharedLeadership({ ...around, namespace: "isochrone", replica: null }, "lease");
  const tools = planTools(clock, { exact: false });
  const decisions = new DecisionLog(1_000);
  let ids = 0;
  const planner = createPlanner(config, {
    ...around,
    pods,
    objects: new ClusterObjects(around),
    graphs,
    ledger: new Ledger(60_000),
    decisions,
    plans: new PlanLog(100),
    tools,
    wishes: new ZoneWishes(),
    newId: () => `id-${++ids}`,
    leadership,
    namespace: "isochrone",
    replica: null,
    isMoving: () => false,
    bytesPerRequest: 1_000,
    podEvents: false,
    registry: createRegistry(),
  })!;
  leadership.start();
  for (const { service } of planner.parts) await service?.start?.();
  onTestFinished(async () => {
    const stopped = Promise.all(
      planner.parts.toReversed().map(async ({ service }) => await service?.stop?.()),
    );
    await clock.advance(20_000);
    await stopped;
    await Promise.all([leadership.stop(), tools.close(), pods.stop()]);
  });

  const list = async (): Promise<KubernetesObject[]> =>
    (await store.list(KINDS.pod, { namespace: NAMESPACE })).items;
  const graph = async (): Promise<void> => {
    const all = (await list()).filter((pod) => nodeOf(pod) !== null);
    graphs.setWorkflow(snapshotOf(channels, workloads, all, clock.now()));
  };
  const create = async (name: string, { name: owner, hash }: Version, node: string | null): Promise<void> => {
    const { uid = "" } = (await store.get({ ...KINDS.replicaSet, namespace: NAMESPACE, name: owner }))!
      .metadata;
    const ownerReferences = [{ ...KINDS.replicaSet, name: owner, uid, controller: true }];
    const labels = { ...labelsOf(name), [HASH]: hash };
    const spec = { ...podSpec(), ...(node === null ? {} : { nodeName: node }) };
    const metadata = { namespace: NAMESPACE, generateName: `${owner}-`, labels, ownerReferences };
    const asked = { ...KINDS.pod, metadata, spec } as unknown as KubernetesObject;
    const promised = node === null ? planner.promise({ pod: asked, appGroup: null, isDryRun: false }) : null;
    const gates = node === null && promised === null ? { schedulingGates: [{ name: PLACEMENT_GATE }] } : {};
    await store.create({
      ...asked,
      metadata: { ...asked.metadata, name: `${owner}-${++made}`, annotations: promised?.annotations ?? {} },
      spec: { ...spec, ...gates, ...(promised === null ? {} : { affinity: promised.affinity }) },
      status: { phase: node === null ? "Pending" : "Running", conditions: node === null ? [] : READY },
    });
  };
  const version = (name: string, revision: number): Version => ({
    name: `${name}-h${revision}`,
    hash: `h${revision}`,
  });
  const newVersion = async (name: string, revision: number, wanted: number): Promise<void> => {
    const { name: of, hash } = version(name, revision);
    const { uid = "" } = (await store.get({ ...KINDS.deployment, namespace: NAMESPACE, name }))!.metadata;
    await store.create({
      ...KINDS.replicaSet,
      metadata: {
        namespace: NAMESPACE,
        name: of,
        labels: { [HASH]: hash },
        annotations: { "deployment.kubernetes.io/revision": String(revision) },
        ownerReferences: [{ ...KINDS.deployment, name, uid, controller: true }],
      },
      spec: { replicas: wanted },
    });
  };

  const roll = async (name: string, all: readonly KubernetesObject[]): Promise<void> => {
    const deployment = (await store.get({ ...KINDS.deployment, namespace: NAMESPACE, name }))!;
    const { replicas: wanted, paused, revision } = fieldsOf(deployment);
    const own = all.filter((pod) => isOf(pod, name) && pod.metadata.deletionTimestamp === undefined);
    const newest = version(name, revision);
    const ref = { ...KINDS.replicaSet, namespace: NAMESPACE, name: newest.name };
    const isNew = (pod: KubernetesObject): boolean => pod.metadata.labels?.[HASH] === newest.hash;
    if (paused !== true) {
      if ((await store.get(ref)) === null) return await newVersion(name, revision, 1);
      const fresh = own.filter(isNew);
      const old = own.filter((pod) => !isNew(pod));
      const surge = old.length === 0 ? 0 : Math.ceil(wanted / 4);
      if (fresh.length < wanted && own.length < wanted + surge) await create(name, newest, null);
      const ready = own.filter(isReady).length;
      const surplus = old.toSorted((a, b) => Number(isReady(a)) - Number(isReady(b)))[0];
      if (surplus !== undefined && ready > wanted - Math.floor(wanted / 4)) await remove(surplus);
    } else if (own.length < wanted) await create(name, version(name, revision - 1), null);
    await store.patch(
      { ...KINDS.deployment, namespace: NAMESPACE, name },
      { status: { replicas: own.length, updatedReplicas: own.filter(isNew).length } },
      { subresource: "status" },
    );
  };
  const remove = async ({ metadata }: KubernetesObject): Promise<void> => {
    deletedAt.set(metadata.name, step);
    await store.delete({ ...KINDS.pod, namespace: NAMESPACE, name: metadata.name });
  };

  const place = async (all: readonly KubernetesObject[]): Promise<void> => {
    const left = new Map(NODES.map((name) => [name, parseMillicores(nodeCpu)!]));
    for (const pod of all) {
      const node = nodeOf(pod);
      if (node !== null) left.set(node, left.get(node)! - parseMillicores(CPU)!);
    }
    for (const pod of all) {
      const { name, deletionTimestamp } = pod.metadata;
      const ref = { namespace: NAMESPACE, name };
      if (deletionTimestamp !== undefined) {
        if (step - (deletedAt.get(name) ?? step) >= graceSteps)
          await store.delete({ ...KINDS.pod, ...ref }, { gracePeriodSeconds: 0 });
      } else if (nodeOf(pod) === null && !hasOurGate(pod)) {
        const node = openTo(pod).find((each) => left.get(each)! >= parseMillicores(CPU)!);
        if (node === undefined) continue;
        left.set(node, left.get(node)! - parseMillicores(CPU)!);
        await store.bind(ref, node);
      } else if (nodeOf(pod) !== null && !isReady(pod) && !broken.has(workloadOf(pod)))
        await store.patch(
          { ...KINDS.pod, ...ref },
          { status: { phase: "Running", conditions: READY } },
          { subresource: "status" },
        );
    }
  };

  const steps = async (count: number): Promise<void> => {
    for (let each = 0; each < count; each++) {
      step++;
      for (const name of workloads) await roll(name, await list());
      await place(await list());
      if (step % graphSteps === 0) await graph();
      await clock.advance(STEP_MS);
    }
  };
  const patch = async (name: string, change: Readonly<Record<string, unknown>>): Promise<void> =>
    void (await store.patch({ ...KINDS.deployment, namespace: NAMESPACE, name }, change));

  for (const name of workloads) {
    await store.create({
      ...KINDS.deployment,
      metadata: { namespace: NAMESPACE, name },
      spec: {
        replicas,
        revision: 1,
        template: { metadata: { labels: labelsOf(name) }, spec: podSpec() },
      },
      status: { replicas, updatedReplicas: replicas },
    });
    await newVersion(name, 1, replicas);
    for (let replica = 0; replica < replicas; replica++)
      await create(name, version(name, 1), at(name, replica));
  }
  await graph();
  await steps(5);

  const placement = async (): Promise<Record<string, string[]>> => {
    const staying = (await list()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return Object.fromEntries(
      workloads.map((name) => [
        name,
        staying
          .filter((pod) => isOf(pod, name))
          .map((pod) => nodeOf(pod) ?? "none")
          .toSorted(),
      ]),
    );
  };

  return {
    clock,
    store,
    steps,
    patch,
    placement,
    pods: list,
    gaveUp: async (name) => {
      const type = { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" };
      const ref = { ...KINDS.deployment, namespace: NAMESPACE, name };
      await store.patch(ref, { status: { conditions: [type] } }, { subresource: "status" });
    },
    breaks: (name) => void broken.add(name),
    restart: async (...names) => {
      for (const name of names) {
        const ref = { ...KINDS.deployment, namespace: NAMESPACE, name };
        const { revision } = fieldsOf((await store.get(ref))!);
        await patch(name, { spec: { revision: revision + 1 } });
      }
    },
    drain: async (node) => {
      await store.patch({ ...KINDS.node, name: node }, { spec: { unschedulable: true } });
      await clock.advance(10);
      for (const pod of await list()) if (nodeOf(pod) === node) await remove(pod);
    },
    settled: async () => {
      for (let quiet = 0, round = 0; quiet < 10; round++) {
        if (round === 3_000) throw new Error("the pods are replaced for ever");
        await steps(1);
        const all = await list();
        const isSettled =
          all.length === workloads.length * replicas &&
          all.every((pod) => isReady(pod) && isNewest(pod, all));
        quiet = isSettled ? quiet + 1 : 0;
      }
    },
    overBest: async (...names) => {
      const found = await placement();
      const open = (await store.list(KINDS.node)).items.filter(({ spec }) => spec?.unschedulable !== true);
      const planned = names.length === 0 ? workloads : names;
      return overBestOf({ found, nodes: open, channels, planned, nowMs: clock.now() });
    },
  };
}

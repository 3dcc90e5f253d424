// A move fails at most as many user requests as a rolling update of the Deployment.
import { KINDS, moveOwnerOf } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { LabCluster } from "@isochrone/lab";
import { DirectNetwork, sites, threeServices } from "@isochrone/lab/testing";
import { createRegistry, seededRandom, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import {
  createDeschedulerMetrics,
  Evictor,
  ReleasedPods,
  StartedMoves,
} from "@isochrone/scheduler-plugin/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../harness/embedded.ts";

const WITHIN_MS = 120_000;
const COOL_DOWN_MS = 1_000;
/** Every user request calls each of them directly or indirectly and enters at a. */
const WORKLOADS = ["a", "b", "c"] as const;
const READY = '"Ready","status":"True"';

describe("while pods of Deployments move", () => {
  const logger = new MemoryLogger();
  const store: ClusterStore = createMemoryStore({ clock: systemClock });
  const nodes = sites(3);
  const evictor = new Evictor(store);
  const moves = new StartedMoves();
  const metrics = createDeschedulerMetrics(createRegistry());
  const config = { mode: "evict", coolDownMs: COOL_DOWN_MS } as const;
  const released = new ReleasedPods({ config, store, moves, metrics, logger });
  let cluster: LabCluster;

  beforeAll(async () => {
    cluster = await LabCluster.start({
      store,
      network: new DirectNetwork(nodes.map(({ name }) => name)),
      sites: nodes,
      manifest: threeServices(),
      clock: systemClock,
      random: seededRandom(7),
      logger,
      requestsPerSecond: 40,
      placement: "spread",
      pods: { terminationGraceMs: 1_000, callTimeoutMs: 20_000, niceness: null },
    });
    await cluster.waitReady(WITHIN_MS);
    await eventually("users send requests", WITHIN_MS, async () => {
      if ((await requests(1_000)).count < 10) throw new Error("too few");
    });
  }, 2 * WITHIN_MS);
  afterAll(() => cluster?.stop());

  const requests = (lastMs: number) => cluster.endToEnd({ lastMs });
  const list = async (kind: typeof KINDS.pod | typeof KINDS.replicaSet): Promise<KubernetesObject[]> =>
    (await store.list(kind)).items;
  const podOf = async (workload: string): Promise<KubernetesObject> =>
    (await list(KINDS.pod)).find(
      ({ metadata }) => metadata.labels?.["app"] === workload && metadata.deletionTimestamp === undefined,
    )!;

  async function failuresOf(act: () => Promise<void>): Promise<number> {
    const beganMs = systemClock.monotonic();
    await act();
    await systemClock.sleep(3_000);
    const { count, errors } = await requests(systemClock.monotonic() - beganMs);
    expect(count).toBeGreaterThan(50);
    return errors;
  }

  async function moved(workload: string): Promise<void> {
    const pod = await podOf(workload);
    const { name, namespace = "default", uid = "" } = pod.metadata;
    const from = String(pod.spec?.["nodeName"]);
    const to = nodes.map((node) => node.name).find((node) => node !== from)!;
    for (const node of nodes) {
      const spec = { unschedulable: node.name !== to };
      await store.patch({ ...KINDS.node, name: node.name }, { spec });
    }
    const siblings = new Set((await list(KINDS.pod)).map(({ metadata }) => metadata.uid ?? ""));
    const nowMs = systemClock.now();
    const release = { before: 0 };
    const move = {
      namespace,
      pod: name,
      from,
      to,
      deadlineMs: nowMs + WITHIN_MS,
      coolDownMs: COOL_DOWN_MS,
      release,
    };
    const begun = await evictor.begin({ ...move, uid, nowMs });
    expect(begun).toMatchObject({ begun: true });
    moves.begin({
      ...move,
      id: "",
      owner: moveOwnerOf(pod)!,
      podUid: uid,
      workflow: "three",
      workload,
      atMs: nowMs,
      siblings,
      before: null,
      expected: null,
      worth: null,
    });
    await eventually(`${workload} has moved`, WITHIN_MS, async () => {
      const lists = { pods: await list(KINDS.pod), replicaSets: await list(KINDS.replicaSet) };
      await released.advanceAll(lists, systemClock.now());
      expect(moves.look(lists.pods, systemClock.now())).toMatchObject([
        { outcome: "on_target", replacement: { node: to } },
      ]);
    });
    for (const node of nodes)
      await store.patch({ ...KINDS.node, name: node.name }, { spec: { unschedulable: false } });
  }

  async function rolledOut(workload: string): Promise<void> {
    const before = (await podOf(workload)).metadata.uid;
    const template = { metadata: { annotations: { "example.com/restarted": "1" } } };
    await store.patch({ ...KINDS.deployment, namespace: "default", name: workload }, { spec: { template } });
    await eventually(`${workload} is rolled out`, WITHIN_MS, async () => {
      const pods = (await list(KINDS.pod)).filter(({ metadata }) => metadata.labels?.["app"] === workload);
      expect(pods.map(({ metadata }) => metadata.uid)).not.toContain(before);
      expect(pods.map((pod) => JSON.stringify(pod.status)).join(" ")).toContain(READY);
    });
  }

  test(
    "no request fails, and in a rolling update of the same Deployments no fewer do",
    async () => {
      let [failedByMoves, failedByRollouts] = [0, 0];
      for (const workload of WORKLOADS) failedByMoves += await failuresOf(() => moved(workload));
      for (const workload of WORKLOADS) failedByRollouts += await failuresOf(() => rolledOut(workload));
      expect(failedByMoves).toBe(0);
      expect(failedByMoves).toBeLessThanOrEqual(failedByRollouts);
    },
    6 * WITHIN_MS,
  );
});

import { KINDS, StoreError } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { NO_MEMORY } from "@isochrone/placement";
import type { Move } from "@isochrone/placement";
import { createRegistry, loadSettings } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { DecisionLog } from "../domain/decision-log.ts";
import { identifyPod } from "../domain/pod.ts";
import { memberOf } from "../testing/appgroup-rig.ts";
import { BackOff } from "./back-off.ts";
import { CarryOut } from "./carry-out.ts";
import { Evictor } from "./evictor.ts";
import { LeftNodes } from "./decision/left-nodes.ts";
import { createDeschedulerMetrics } from "./decision/metrics.ts";
import { MoveReports } from "./move-reports.ts";
import { deschedulerSettings } from "./decision/settings.ts";
import { StartedMoves } from "./started-moves.ts";
import type { Survey, SurveyedPod } from "./decision/survey.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const WORKLOADS = ["w0", "w1", "w2"];

async function groundOf(store: ClusterStore) {
  const pods = new Map<string, SurveyedPod>();
  for (const name of WORKLOADS) {
    const owner = await store.create({ ...KINDS.replicaSet, metadata: { name, namespace: "shop" } });
    const object = await store.create(podOf(name, owner.metadata.uid!));
    const uid = object.metadata.uid!;
    const movable = { uid, namespace: "shop", name: `${name}-0`, owner: name, replicaNodes: ["n1"] };
    const identity = identifyPod(object);
    pods.set(uid, { movable, object, identity, workload: name, node: "n1", canSurge: false });
  }
  const at = { version: 1, observedAt: new Date(NOW).toISOString() };
  const graph = new WorkflowGraph({ ...at, namespace: "shop", name: "flow", workloads: [], channels: [] });
  const cluster = new ClusterGraph({ ...at, windowSeconds: 30, nodes: [], links: [] });
  const found = { pods, uids: new Set(pods.keys()) } as unknown as Survey;
  return { found, graphs: { cluster, workflow: () => graph }, nowMs: NOW };
}

function podOf(name: string, uid: string): KubernetesObject {
  return {
    ...KINDS.pod,
    metadata: {
      name: `${name}-0`,
      namespace: "shop",
      labels: { app: name, "isochrone.dev/workflow": "flow" },
      ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name, uid, controller: true }],
    },
    spec: { nodeName: "n1", terminationGracePeriodSeconds: 0 },
    status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
  };
}

describe("of what a run has decided", () => {
  const carriedOut = async (
    of: Partial<Move>,
    prepare: (store: ClusterStore) => Promise<ClusterStore>,
  ): Promise<{ over: string[]; left: string[]; acts: string[] }> => {
    const clock = new ManualClock(NOW);
    const memory = createMemoryStore({ clock });
    const ground = await groundOf(memory);
    const store = await prepare(memory);
    const metrics = createDeschedulerMetrics(createRegistry());
    const logger = new MemoryLogger({ clock });
    const decisions = new DecisionLog(10);
    let ids = 0;
    const carryOut = new CarryOut({
      config: loadSettings([deschedulerSettings], { env: {}, overrides: {} }).descheduler,
      bytesPerRequest: 0,
      evictor: new Evictor(store),
      moves: new StartedMoves(),
      backOff: new BackOff(1_000),
      left: new LeftNodes(1_000),
      reports: new MoveReports({
        decisions,
        events: null,
        newId: () => `d-${++ids}`,
        lease: { ...KINDS.lease, namespace: "isochrone", name: "isochrone-planner" },
        mode: "evict",
        clock,
        logger,
      }),
      metrics,
    });
    const moves = [...ground.found.pods.values()].map(({ movable: pod }): Move => ({
      workflow: "shop/flow",
      pod,
      from: "n1",
      to: "n2",
      together: [],
      isPart: true,
      worth: { kind: "cost", gain: 1, cost: 2, pods: 3 },
      ...of,
    }));
    const over = [
      ...(await carryOut.run({ moves, memory: NO_MEMORY }, ground, new AbortController().signal)),
    ];
    const { items } = await memory.list(KINDS.pod);
    const acts = decisions.find({ limit: 10 }).map(({ act }) => act?.id ?? "none");
    return { over, left: items.map(({ metadata }) => metadata.name).sort(), acts };
  };

  const guarded = async (store: ClusterStore): Promise<ClusterStore> => {
    await store.create({
      ...KINDS.podDisruptionBudget,
      metadata: { name: "w1", namespace: "shop" },
      spec: { minAvailable: 1, selector: { matchLabels: { app: "w1" } } },
      status: { disruptionsAllowed: 0 },
    });
    return store;
  };

  test.each([
    ["a larger move", { isPart: true }, ["d-1", "d-1", "d-1"]],
    ["a group", { isPart: false, together: ["the", "others"] }, ["d-1", "d-1", "d-1"]],
    ["single moves", { isPart: false }, ["d-3", "d-2", "d-1"]],
  ])("decisions of %s name their act", async (_, of, acts) => {
    expect(await carriedOut(of, (store) => Promise.resolve(store))).toMatchObject({ over: [], acts });
  });

  test("nothing of a larger move is done any more once a budget has refused one of its pods, and it is over", async () => {
    expect(await carriedOut({}, guarded)).toMatchObject({ over: ["shop/flow"], left: ["w1-0", "w2-0"] });
  });

  test("the others of a group stay with the one that was refused", async () => {
    const together = ["the", "others"];
    expect(await carriedOut({ isPart: false, together }, guarded)).toMatchObject({
      over: ["shop/flow"],
      left: ["w1-0", "w2-0"],
    });
  });

  test("pods that are moved each for itself don't wait for each other", async () => {
    expect(await carriedOut({ isPart: false }, guarded)).toMatchObject({
      over: ["shop/flow"],
      left: ["w1-0"],
    });
  });

  test("a larger move waits for the next run when one of its pods has merely changed", async () => {
    const changed = async (store: ClusterStore): Promise<ClusterStore> =>
      new Proxy(store, {
        get: (target, name) =>
          name === "evict"
            ? (ref: { readonly name: string }, options: Parameters<ClusterStore["evict"]>[1]) =>
                ref.name === "w1-0"
                  ? Promise.reject(new StoreError("conflict", "uid"))
                  : store.evict({ namespace: "shop", name: ref.name }, options)
            : memberOf(target, name),
      });
    expect(await carriedOut({}, changed)).toMatchObject({ over: [], left: ["w1-0", "w2-0"] });
  });
});

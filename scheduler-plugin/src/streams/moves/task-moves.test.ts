import { KINDS, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { createStreamMetrics } from "../metrics.ts";
import { TaskMoves, type MoveRules } from "./task-moves.ts";

const RULES: MoveRules = {
  mode: "evict",
  intervalMs: 60_000,
  rounds: 3,
  minGainRatio: 0.1,
  coolDownMs: 900_000,
  minPodAgeMs: 600_000,
  moveDeadlineMs: 300_000,
  windows: [],
};
const MOVE = { key: "site/gate", task: "work", from: "n1", to: "n2", before: 2, after: 20 };
const UID = "job";

let clock: ManualClock;
let store: ClusterStore;

beforeEach(() => {
  clock = new ManualClock();
  store = createMemoryStore({ clock });
});

const movesBy = (rules: Partial<MoveRules> = {}): TaskMoves =>
  new TaskMoves({
    rules: { ...RULES, ...rules },
    store,
    clock,
    logger: new MemoryLogger(),
    metrics: createStreamMetrics(createRegistry()),
  });

function pod(node: string, { isReady = true, annotations = {}, ageMs = 3_600_000 } = {}): KubernetesObject {
  return {
    ...KINDS.pod,
    metadata: {
      namespace: "site",
      name: `gate-work-${node}`,
      labels: { app: "gate" },
      annotations,
      creationTimestamp: new Date(clock.now() - ageMs).toISOString(),
    },
    spec: { nodeName: node, containers: [{ name: "stage", image: "example.com/stage:1" }] },
    status: { phase: "Running", conditions: [{ type: "Ready", status: isReady ? "True" : "False" }] },
  };
}

const jobOn =
  (host: string | null, pods: readonly KubernetesObject[], areFlowsApplied = true) =>
  () => ({
    host,
    podOn: (node: string) => pods.find(({ spec }) => spec?.["nodeName"] === node) ?? null,
    areFlowsApplied,
  });

function begun(moves: TaskMoves): TaskMoves {
  for (let round = 0; round < RULES.rounds; round++) moves.propose(UID, MOVE);
  return moves;
}

describe("a move of a task", () => {
  test("makes the new pod before it breaks the old one, and waits for the rules of its flows", async () => {
    const moves = begun(movesBy());
    expect(moves.besides(UID)).toMatchObject({ task: "work", node: "n2", onRefused: expect.any(Function) });
    const old = await store.create(pod("n1"));
    expect(await moves.advance(jobOn("n1", [old]))).toBeNull();
    expect(await moves.advance(jobOn("n1", [old, pod("n2", { isReady: false })]))).toBeNull();
    const both = [old, pod("n2")];
    expect(await moves.advance(jobOn("n1", both))).toEqual({ task: "work", node: "n2" });
    expect(moves.besides(UID)).toEqual({ task: "work", node: "n1", onRefused: null });
    await moves.advance(jobOn("n2", both, false));
    expect(await store.get({ ...KINDS.pod, namespace: "site", name: old.metadata.name })).not.toBeNull();
    await moves.advance(jobOn("n2", both, true));
    expect(
      (await store.list(KINDS.pod)).items.filter((each) => each.metadata.deletionTimestamp === undefined),
    ).toEqual([]);
    await moves.advance(jobOn("n2", [pod("n2")]));
    expect(moves.moving).toBeNull();
  });

  test("evicts the old pod without rules only after ten seconds, where nobody makes any", async () => {
    const moves = begun(movesBy());
    const old = await store.create(pod("n1"));
    const both = [old, pod("n2")];
    await moves.advance(jobOn("n1", both));
    await clock.advance(9_000);
    await moves.advance(jobOn("n2", both, false));
    expect((await store.list(KINDS.pod)).items).toHaveLength(1);
    await clock.advance(2_000);
    await moves.advance(jobOn("n2", both, false));
    expect(
      (await store.list(KINDS.pod)).items.filter((each) => each.metadata.deletionTimestamp === undefined),
    ).toEqual([]);
  });

  test("keeps the old pod while a PodDisruptionBudget forbids its eviction", async () => {
    const moves = begun(movesBy());
    const old = await store.create(pod("n1"));
    await store.create({
      ...KINDS.podDisruptionBudget,
      metadata: { namespace: "site", name: "gate" },
      spec: { selector: { matchLabels: { app: "gate" } }, minAvailable: 1 },
      status: { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
    });
    const both = [old, pod("n2")];
    await moves.advance(jobOn("n1", both));
    await moves.advance(jobOn("n2", both));
    expect((await store.list(KINDS.pod)).items).toHaveLength(1);
    expect(moves.besides(UID)).toMatchObject({ node: "n1" });
  });

  test.each<[string, (moves: TaskMoves) => Promise<unknown>]>([
    ["the job is gone", (moves) => moves.advance(() => null)],
    ["its node was lost", (moves) => moves.advance(jobOn(null, []))],
    [
      "the new pod isn't ready in time",
      async (moves) => (await clock.advance(RULES.moveDeadlineMs + 1), await moves.advance(jobOn("n1", []))),
    ],
    ["the API server refuses the new pod", async (moves) => moves.besides(UID)!.onRefused!("no quota")],
  ])("is given up when %s, and the job rests", async (_, happen) => {
    const moves = begun(movesBy());
    await happen(moves);
    expect(moves.moving).toBeNull();
    expect(moves.besides(UID)).toBeNull();
    expect(moves.mayMove(UID, pod("n1"))).toBe(false);
    await clock.advance(RULES.coolDownMs + 1);
    expect(moves.mayMove(UID, pod("n1"))).toBe(true);
  });
});

describe("the descheduler's rules", () => {
  test("want the same move in several rounds in a row", () => {
    const moves = movesBy();
    for (const each of [MOVE, MOVE, { ...MOVE, to: "n3" }, MOVE, MOVE]) moves.propose(UID, each);
    expect(moves.moving).toBeNull();
    moves.propose(UID, MOVE);
    expect(moves.moving).toBe(UID);
  });

  test("in a dry run only say it", () => {
    expect(begun(movesBy({ mode: "dry-run" })).moving).toBeNull();
  });

  test("keep young, unready and annotated pods where they are", () => {
    const moves = movesBy();
    expect(moves.mayMove(UID, pod("n1"))).toBe(true);
    expect(moves.mayMove(UID, null)).toBe(false);
    expect(moves.mayMove(UID, pod("n1", { isReady: false }))).toBe(false);
    expect(moves.mayMove(UID, pod("n1", { ageMs: RULES.minPodAgeMs - 1_000 }))).toBe(false);
    for (const annotations of [
      { "karpenter.sh/do-not-disrupt": "true" },
      { "descheduler.alpha.kubernetes.io/prefer-no-eviction": "" },
    ])
      expect(moves.mayMove(UID, pod("n1", { annotations }))).toBe(false);
  });

  test("have one look at a time, none during a move, and none outside of their windows", async () => {
    const moves = movesBy();
    expect([moves.isDue(), moves.isDue()]).toEqual([true, false]);
    await clock.advance(RULES.intervalMs);
    expect(moves.isDue()).toBe(true);
    await clock.advance(RULES.intervalMs);
    expect(begun(moves).isDue()).toBe(false);
    const minute = new Date(clock.now() + 3_600_000).toISOString().slice(11, 16);
    const later = new Date(clock.now() + 7_200_000).toISOString().slice(11, 16);
    expect(movesBy({ windows: [`${minute}-${later}`] }).isDue()).toBe(false);
  });
});

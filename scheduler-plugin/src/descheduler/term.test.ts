import { KINDS, moveRecordPatch, readLastMove, readMoveRecords, StoreError } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { memberOf } from "../testing/appgroup-rig.ts";
import { DeschedulerRig, MINUTE } from "../testing/descheduler-rig.ts";

async function rigWith(
  settings: Readonly<Record<string, unknown>> = {},
  through?: (store: ClusterStore) => ClusterStore,
): Promise<DeschedulerRig> {
  const rig = new DeschedulerRig(settings, through);
  await rig.begin();
  return rig;
}

const records = async (rig: DeschedulerRig) =>
  readMoveRecords((await rig.replicaSet("web"))!, rig.clock.now());

describe("a run of the descheduler", () => {
  test("writes the target on the controller, then evicts; follows the replacement, and removes the record", async () => {
    const order: string[] = [];
    const rig = await rigWith({}, (store) => noting(store, order));
    await rig.run();
    expect(order).toEqual(["jsonPatch", "evict"]);
    expect(await rig.nodesOf("web")).toEqual(["a1"]);
    const [record] = await records(rig);
    expect(record).toMatchObject({ from: "b1", to: expect.stringMatching(/c[12]/) });
    expect(rig.term.report.inFlight).toHaveLength(1);
    expect(rig.decisions()).toMatchObject({ "web-1": "move" });

    await rig.addPod("web", record!.to);
    await rig.clock.advance(MINUTE);
    await rig.run();
    expect(await records(rig)).toEqual([]);
    expect(rig.term.report.inFlight).toEqual([]);
    expect(await rig.metric("isochrone_descheduler_moves_total", '{outcome="on_target"}')).toBe(1);
    // The whole workload is in its cool-down.
    await rig.run();
    expect(rig.decisions()).toMatchObject({ "web-0": "cool_down" });
    expect(await rig.metric("isochrone_descheduler_pods_skipped", '{reason="not_opted_in"}')).toBe(2);
  });

  test.each([
    [{}, "move"],
    [{ minZones: 3 }, "no_gain"],
    [{ minNodes: 3, minZones: 1 }, "move"],
    [{ hostnameMaxSkew: 0, zoneMaxSkew: 1, minZones: 1 }, "no_gain"],
  ])("keeps replicas as far apart as the planner does, by its settings: %o", async (planner, decision) => {
    const rig = new DeschedulerRig({ mode: "dry-run" }, undefined, planner);
    await rig.begin();
    await rig.addPod("web", "c1");
    await rig.clock.advance(60 * MINUTE);
    await rig.run();
    expect(rig.decisions()).toMatchObject({ "web-1": decision });
  });

  // The rig's graphs cover one minute.
  test.each([
    [20, { intervalMs: 10_000, rounds: 3 }, 7],
    [20, { intervalMs: 25_000, rounds: 3 }, 4],
    [20, { intervalMs: 60_000, rounds: 3 }, 3],
    [20, { intervalMs: 61_000, rounds: 1 }, 1],
    [2, { intervalMs: 10_000, rounds: 3 }, 3],
  ])("a gain that links of +- %i ms may make up must last a window: %o", async (errorMs, settings, runs) => {
    const rig = await rigWith({ mode: "dry-run", ...settings });
    rig.errorMs = errorMs;
    for (let run = 1; run < runs; run++) {
      await rig.run();
      expect(rig.decisions()).toMatchObject({ "web-1": "rounds" });
    }
    await rig.run();
    expect(rig.decisions()).toMatchObject({ "web-1": "move" });
  });

  test("in dry-run says the same, and does nothing", async () => {
    const rig = await rigWith({ mode: "dry-run" });
    await rig.run();
    expect(rig.decisions()).toMatchObject({ "web-1": "move" });
    expect(await rig.nodesOf("web")).toEqual(["a1", "b1"]);
    expect(await records(rig)).toEqual([]);
    expect(await rig.metric("isochrone_descheduler_moves_proposed_total")).toBe(1);
  });

  test("no other pod of the workload moves until the replacement is ready, or is given up", async () => {
    const rig = await rigWith({ coolDownMs: 0, moveDeadlineMs: 5 * MINUTE });
    await rig.run();
    await rig.addPod("web", "b2", false);
    await rig.clock.advance(MINUTE);
    await rig.run();
    expect(rig.decisions()).toMatchObject({ "web-0": "in_flight" });
    await rig.clock.advance(5 * MINUTE);
    await rig.run();
    expect(await rig.metric("isochrone_descheduler_moves_total", '{outcome="lost"}')).toBe(1);
    expect(await records(rig)).toEqual([]);
  });

  test("sees a move of the leader before it by its record", async () => {
    const rig = await rigWith();
    await rig.run();
    const [record] = await records(rig);
    const next = new DeschedulerRig();
    await next.begin();
    const annotations = (await rig.replicaSet("web"))!.metadata.annotations!;
    await next.store.patch(
      { ...KINDS.replicaSet, namespace: "shop", name: "web-1" },
      { metadata: { annotations } },
    );
    await next.run();
    expect(record).toBeDefined();
    expect(next.decisions()).toMatchObject({ "web-0": "in_flight", "web-1": "in_flight" });
  });

  test.each(["dry-run", "evict"])(
    "in mode %s a PodDisruptionBudget that allows nothing keeps the pod, and nobody asks the API server",
    async (mode) => {
      const rig = await rigWith({ mode });
      await rig.store.create(budgetOf({ disruptionsAllowed: 0 }));
      await rig.run();
      expect(rig.decisions()).toMatchObject({ "web-1": "disruption_budget" });
      expect(await rig.metric("isochrone_descheduler_eviction_failures_total", '{reason="pdb"}')).toBeNaN();
      expect(await rig.nodesOf("web")).toEqual(["a1", "b1"]);
    },
  );

  test("a PodDisruptionBudget whose status is of an older specification allows nothing", async () => {
    const rig = await rigWith();
    await rig.store.create(budgetOf({ disruptionsAllowed: 2, observedGeneration: 0 }));
    await rig.run();
    expect(rig.decisions()).toMatchObject({ "web-1": "disruption_budget" });
  });

  test("an eviction that is refused is counted, leaves nothing behind, and isn't tried again for longer each time", async () => {
    const rig = await rigWith({}, refusing);
    const refusals = (): Promise<number> =>
      rig.metric("isochrone_descheduler_eviction_failures_total", '{reason="pdb"}');
    await rig.run();
    expect(await refusals()).toBe(1);
    expect(await rig.nodesOf("web")).toEqual(["a1", "b1"]);
    expect(await records(rig)).toEqual([]);
    await rig.run();
    expect(await refusals()).toBe(1);
    expect(rig.decisions()).toMatchObject({ "web-1": "backoff" });
    await rig.clock.advance(MINUTE + 1);
    await rig.run();
    expect(await refusals()).toBe(2);
    await rig.clock.advance(MINUTE + 1);
    await rig.run();
    expect(await refusals()).toBe(2);
  });

  test("an eviction that is refused doesn't end the rest after the workload's last move", async () => {
    const rig = await rigWith({ coolDownMs: 15 * MINUTE }, refusing);
    const owner = (await rig.replicaSet("web"))!;
    const last = { atMs: rig.clock.now() - 16 * MINUTE, coolDownMs: 15 * MINUTE };
    const gone = { podUid: "gone", from: "a2", to: "a1", deadlineMs: last.atMs + 1 };
    const ref = { ...KINDS.replicaSet, namespace: "shop", name: "web-1" };
    await rig.store.jsonPatch(ref, moveRecordPatch(owner, gone, last, last.atMs));
    await rig.run();
    expect(await rig.metric("isochrone_descheduler_eviction_failures_total", '{reason="pdb"}')).toBe(1);
    expect(readLastMove((await rig.replicaSet("web"))!)).toEqual(last);
  });

  test.each<[string, Partial<ClusterStore>, string]>([
    [
      "the pod was replaced in between",
      { evict: () => Promise.reject(new StoreError("conflict", "uid")) },
      "changed",
    ],
    [
      "the record can't be written",
      { jsonPatch: () => Promise.reject(new StoreError("forbidden", "no")) },
      "record",
    ],
    ["the API server is away", { get: () => Promise.reject(new StoreError("unavailable", "away")) }, "other"],
    [
      "evictions are forbidden",
      { evict: () => Promise.reject(new StoreError("forbidden", "no")) },
      "refused",
    ],
  ])("when %s nothing is evicted, and the next run begins anew", async (_, broken, reason) => {
    const rig = await rigWith(
      {},
      (store) =>
        new Proxy(store, {
          get: (target, name) => Reflect.get(broken, name) ?? memberOf(target, name),
        }),
    );
    await rig.run();
    expect(await rig.metric("isochrone_descheduler_eviction_failures_total", `{reason="${reason}"}`)).toBe(1);
    expect(await rig.nodesOf("web")).toEqual(["a1", "b1"]);
    await rig.run();
    expect(rig.term.report.inFlight).toEqual([]);
  });

  test.each<[string, Readonly<Record<string, unknown>>, (rig: DeschedulerRig) => void, string]>([
    ["outside of the maintenance windows", { windows: ["03:00-04:00"] }, () => undefined, "maintenance"],
    ["on graphs that are too old", {}, (rig) => (rig.graphAgeMs = 10 * MINUTE), "stale"],
  ])("moves nothing %s", async (_, settings, change, reason) => {
    const rig = await rigWith(settings);
    change(rig);
    await rig.run();
    expect(rig.term.report.halt).toMatchObject({ reason });
    expect(await rig.nodesOf("web")).toEqual(["a1", "b1"]);
    expect(await rig.metric("isochrone_descheduler_runs_total", `{outcome="${reason}"}`)).toBe(1);
  });

  test("what is learnt of a move doesn't shorten the rest after a later one of the workload", async () => {
    const rig = await rigWith({ judgeAfterMs: MINUTE, regretMoves: 10, coolDownMs: 10 * MINUTE });
    await rig.run();
    const [record] = await records(rig);
    await rig.addPod("web", record!.to);
    rig.farMs = { zb: 50, zc: 500 };
    await rig.clock.advance(MINUTE);
    await rig.run();
    const owner = (await rig.replicaSet("web"))!;
    const later = { atMs: rig.clock.now(), coolDownMs: 10 * MINUTE };
    const other = { podUid: "other", from: "a1", to: "a2", deadlineMs: rig.clock.now() + MINUTE };
    await rig.store.jsonPatch(
      { ...KINDS.replicaSet, namespace: "shop", name: "web-1" },
      moveRecordPatch(owner, other, later, rig.clock.now()),
    );
    await rig.clock.advance(MINUTE);
    await rig.run();
    expect(readLastMove((await rig.replicaSet("web"))!)).toEqual({ ...later, coolDownMs: 20 * MINUTE });
  });

  test("a move in vain doubles the workload's rest, and enough of them stop it all", async () => {
    const rig = await rigWith({ judgeAfterMs: MINUTE, regretMoves: 1, coolDownMs: 10 * MINUTE });
    await rig.run();
    const [record] = await records(rig);
    await rig.addPod("web", record!.to);
    await rig.run();
    expect(await rig.metric("isochrone_descheduler_regret")).toBe(0);
    rig.farMs = { zb: 50, zc: 50 };
    await rig.clock.advance(MINUTE);
    await rig.run();
    expect(await rig.metric("isochrone_descheduler_regret")).toBeCloseTo(1);
    expect(await rig.metric("isochrone_descheduler_stopped")).toBe(1);
    expect(readLastMove((await rig.replicaSet("web"))!)?.coolDownMs).toBe(20 * MINUTE);
    rig.farMs = { zb: 5, zc: 50 };
    await rig.clock.advance(30 * MINUTE);
    await rig.run();
    expect(rig.term.report).toMatchObject({ halt: { reason: "regret" }, stoppedUntil: expect.any(String) });
    expect(rig.decisions()).toMatchObject({ "web-4": "halted" });
    await rig.clock.advance(31 * MINUTE);
    await rig.run();
    expect(rig.decisions()).toMatchObject({ "web-4": "move" });
  });

  test("a graph that still shows a pod that went moves nobody of its workflow", async () => {
    const rig = await rigWith();
    rig.ghosts = [{ name: "web-1-old", node: "c1" }];
    await rig.run();
    expect(await rig.nodesOf("web")).toEqual(["a1", "b1"]);
    expect(rig.decisions()).toMatchObject({ "web-0": "unsettled", "web-1": "unsettled" });
    rig.ghosts = [];
    await rig.run();
    expect(await rig.nodesOf("web")).toEqual(["a1"]);
  });

  test.each([
    ["of another namespace, which come and go, hold nobody back", "evil", ["a1"]],
    ["of its own namespace that went move nobody", "shop", ["a1", "b1"]],
  ])("pods at the far end of a channel %s", async (_, namespace, nodes) => {
    const rig = await rigWith();
    const pods = [{ name: "gone-1", node: "c1" }];
    rig.far = { name: "far", kind: "Deployment", namespace, cpuMillicores: null, memoryBytes: null, pods };
    await rig.run();
    expect(await rig.nodesOf("web")).toEqual(nodes);
  });
});

function budgetOf(status: Readonly<Record<string, unknown>>): KubernetesObject {
  return {
    ...KINDS.podDisruptionBudget,
    metadata: { name: "web", namespace: "shop" },
    spec: { minAvailable: 2, selector: { matchLabels: { app: "web" } } },
    status,
  };
}

/** The API server refuses each eviction, whatever the budgets said before. */
function refusing(store: ClusterStore): ClusterStore {
  const evict = () => Promise.reject(new StoreError("too_many_requests", "not now"));
  return new Proxy(store, {
    get: (target, name) => (name === "evict" ? evict : memberOf(target, name)),
  });
}

function noting(store: ClusterStore, order: string[]): ClusterStore {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === "jsonPatch" || name === "evict") order.push(name);
      return memberOf(target, name);
    },
  });
}

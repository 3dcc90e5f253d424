import { SharedLeadership, StoreError } from "@isochrone/kubernetes";
import type { ClusterStore } from "@isochrone/kubernetes";
import { createRegistry, seededRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import {
  A1,
  APP_GROUP_CONFIG,
  AppGroupRig,
  memberOf,
  patchedStore,
  pod,
  specOf,
} from "../testing/appgroup-rig.ts";
import { ClusterPods } from "../adapters/cluster-pods.ts";
import { SCHEDULER_LEASE } from "../leadership/terms.ts";
import { createAppGroupController } from "./controller.ts";
import { FAULTS_ANNOTATION } from "./group-status.ts";

describe("the AppGroup controller among others", () => {
  let rig: AppGroupRig;

  beforeEach(() => {
    rig = new AppGroupRig();
  });
  afterEach(() => rig.stop());

  it("does not write on a version that has changed meanwhile, and comes back", async () => {
    await rig.group();
    let raced = false;
    rig.watched.beforeWrite = async () => {
      if (raced) return;
      raced = true;
      await rig.patch({ spec: { topologySortingAlgorithm: "ReverseKahn" } });
    };
    await rig.start();
    await rig.clock.advance(2_000);
    expect(await rig.indices()).toEqual({ P1: 3, P2: 2, P3: 1 });
    expect(await rig.metric("isochrone_appgroup_status_writes_total")).toEqual([
      'isochrone_appgroup_status_writes_total{result="conflict"} 1',
      'isochrone_appgroup_status_writes_total{result="written"} 1',
    ]);
  });

  it("goes on when the API server was away, without a storm of tries", async () => {
    rig.watched.beforeWrite = () => {
      throw new StoreError("unavailable", "connection refused");
    };
    for (let index = 0; index < 20; index++) await rig.group(specOf(A1), `g${index}`);
    await rig.start();
    await rig.clock.advance(300_000);
    expect(rig.watched.writes).toBeLessThan(20 * 14);
    rig.watched.beforeWrite = null;
    await rig.clock.advance(60_000);
    for (let index = 0; index < 20; index++)
      expect(await rig.indices(`g${index}`)).toEqual({ P1: 1, P2: 2, P3: 3 });
  });

  it("says so on the object when its status is refused, and leaves the others alone", async () => {
    await rig.group(specOf(A1), "refused");
    await rig.group();
    let refusals = 0;
    rig.watched.beforeWrite = (name) => {
      if (name === "refused" && refusals++ === 0)
        throw new StoreError("invalid", "status.topologyOrder: must have no unicorns");
    };
    await rig.start();
    expect(await rig.indices()).toEqual({ P1: 1, P2: 2, P3: 3 });
    expect((await rig.reasons())[0]).toBe(
      "StatusNotWritten: the API server refuses the status: status.topologyOrder: must have no unicorns",
    );
    expect(await rig.indices("refused")).toEqual({ P1: 1, P2: 2, P3: 3 });
  });

  it("does not fight another writer of the order, and says so", async () => {
    await rig.group();
    await rig.start();
    for (let round = 0; round < 20; round++) {
      const { topologyOrder } = (await rig.read()).status as { topologyOrder: Record<string, unknown>[] };
      await rig.patch({
        status: { topologyOrder: topologyOrder.map((entry, at) => ({ ...entry, index: 9 - at })) },
      });
      await rig.clock.advance(5_000);
    }
    expect(rig.watched.writes).toBeLessThanOrEqual(4);
    expect((await rig.reasons()).filter((line) => line.startsWith("StatusContested"))).toHaveLength(1);
    await rig.clock.advance(600_000);
    expect(await rig.indices()).toEqual({ P1: 1, P2: 2, P3: 3 });
  });

  it("writes through the status subresource where the CRD has one", async () => {
    const ignoring = patchedStore(rig.watched.through, async (ref, change, options) => {
      const { status, ...rest } = change;
      if (ref.kind !== "AppGroup") return await rig.watched.through.patch(ref, change);
      const viaStatus = options?.subresource === "status";
      return await rig.watched.through.patch(
        ref,
        viaStatus ? { metadata: change["metadata"], status } : rest,
      );
    });
    await rig.group(specOf({ a: "b", b: "a" }));
    await rig.create({}, ignoring).start();
    await rig.clock.advance(2_000);
    expect(await rig.indices()).toEqual({ a: 1, b: 2 });
    expect((await rig.read()).metadata.annotations).toHaveProperty([FAULTS_ANNOTATION]);
    await rig.patch({ spec: specOf(A1, "ReverseKahn") });
    await rig.clock.advance(2_000);
    expect(await rig.indices()).toEqual({ P1: 3, P2: 2, P3: 1 });
    expect((await rig.read()).metadata.annotations ?? {}).toEqual({});
  });

  it("leaves the status alone while upstream's controller is to write it", async () => {
    const around = {
      store: rig.store,
      clock: rig.clock,
      random: seededRandom(1),
      logger: new MemoryLogger(),
    };
    expect(
      createAppGroupController(
        { ...APP_GROUP_CONFIG, appGroupStatus: "upstream" },
        {
          ...around,
          pods: new ClusterPods(around),
          registry: createRegistry(),
          leadership: new SharedLeadership(
            { ...around, namespace: "isochrone", replica: null },
            SCHEDULER_LEASE,
          ),
        },
      ),
    ).toBe(null);
  });

  it("waits for the kind to be installed, and keeps its hands off while the pods aren't known", async () => {
    let isInstalled = false;
    let knowsPods = false;
    const late = new Proxy(rig.watched.through, {
      get: (target, name) =>
        name === "list"
          ? async (...args: Parameters<ClusterStore["list"]>) => {
              if (args[0].kind === "AppGroup" && !isInstalled)
                throw new StoreError("not_found", "no such kind");
              if (args[0].kind === "Pod" && !knowsPods)
                throw new StoreError("forbidden", "pods is forbidden");
              return await target.list(...args);
            }
          : memberOf(target, name),
    });
    await rig.group();
    await rig.store.create(pod("p1", "a1"));
    await rig.create({}, late).start();
    await rig.clock.advance(120_000);
    expect(rig.watched.writes).toBe(0);
    isInstalled = true;
    await rig.clock.advance(31_000);
    expect(await rig.indices()).toEqual({ P1: 1, P2: 2, P3: 3 });
    expect((await rig.read()).status).not.toHaveProperty("runningWorkloads");
    knowsPods = true;
    await rig.clock.advance(31_000);
    expect((await rig.read()).status).toMatchObject({ runningWorkloads: 1 });
  });

  it("comes out right when two replicas both believe that they lead", async () => {
    await rig.group();
    await rig.create().start();
    await rig.create().start();
    await rig.clock.advance(3_000);
    await rig.patch({ spec: { topologySortingAlgorithm: "ReverseKahn" } });
    await rig.store.create(pod("p1", "a1"));
    await rig.clock.advance(30_000);
    expect((await rig.read()).status).toMatchObject({ runningWorkloads: 1 });
    expect(await rig.indices()).toEqual({ P1: 3, P2: 2, P3: 1 });
    const { resourceVersion } = (await rig.read()).metadata;
    await rig.clock.advance(600_000);
    expect((await rig.read()).metadata.resourceVersion).toBe(resourceVersion);
    // Each change is written once; the other replica's write fails on its resource version.
    expect(rig.watched.writes).toBeLessThanOrEqual(6);
  });

  it("does nothing more on a term that has passed while its process stood still", async () => {
    const first = rig.create({ replicaName: "one" });
    await first.start();
    await rig.clock.advance(3_000);
    await rig.group();
    let reached = 0;
    rig.watched.beforeWrite = async () => {
      if (reached++ > 0) return;
      await rig.patch({ spec: { topologySortingAlgorithm: "ReverseKahn" } });
      await rig.clock.sleep(9_000);
    };
    await rig.clock.advance(12_000);
    expect(await rig.indices()).toEqual({ P1: 3, P2: 2, P3: 1 });
    expect(await rig.metric("isochrone_appgroup_status_writes_total")).toContain(
      'isochrone_appgroup_status_writes_total{result="conflict"} 1',
    );
  });

  it("is done by one of two replicas, and by the other when that one is gone", async () => {
    const first = rig.create({ replicaName: "one" });
    await first.start();
    await rig.clock.advance(3_000);
    const firstRegistry = rig.registry;
    const second = rig.create({ replicaName: "two" });
    await second.start();
    await rig.group();
    await rig.clock.advance(10_000);
    expect(await rig.indices()).toEqual({ P1: 1, P2: 2, P3: 3 });
    expect(rig.watched.writes).toBe(1);
    expect(await rig.metric("isochrone_appgroup_leading")).toEqual(["isochrone_appgroup_leading 0"]);
    expect(await firstRegistry.metrics()).toContain("isochrone_appgroup_leading 1");
    await first.stop();
    await rig.patch({ spec: { topologySortingAlgorithm: "ReverseKahn" } });
    await rig.clock.advance(10_000);
    expect(await rig.indices()).toEqual({ P1: 3, P2: 2, P3: 1 });
    expect(rig.watched.writes).toBe(2);
  });
});

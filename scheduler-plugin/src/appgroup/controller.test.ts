import { KINDS } from "@isochrone/kubernetes";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { A1, AppGroupRig, pod, specOf, workload } from "../testing/appgroup-rig.ts";
import { FAULTS_ANNOTATION } from "./group-status.ts";

describe("the AppGroup controller", () => {
  let rig: AppGroupRig;

  beforeEach(() => {
    rig = new AppGroupRig();
  });
  afterEach(() => rig.stop());

  it("writes what upstream's controller writes, and of the object nothing else", async () => {
    const before = await rig.group();
    await rig.store.create(pod("p1", "a1"));
    await rig.store.create(pod("p2", "a1", "Pending"));
    await rig.start();
    const after = await rig.read();
    expect(after.status).toEqual({
      runningWorkloads: 1,
      scheduleStartTime: "2023-11-14T22:13:20Z",
      topologyCalculationTime: "2023-11-14T22:13:20Z",
      topologyOrder: [
        { workload: workload("P1"), index: 1 },
        { workload: workload("P2"), index: 2 },
        { workload: workload("P3"), index: 3 },
      ],
    });
    expect(after.spec).toEqual(before.spec);
    expect(after.metadata.annotations).toBe(undefined);
    expect(await rig.reasons()).toEqual(["TopologyOrderCalculated: KahnSort: P1, P2, P3"]);
  });

  it("calculates again when the spec changes, at once, and keeps the time of an order that stays", async () => {
    await rig.group();
    await rig.start();
    await rig.clock.advance(3_600_000);
    await rig.patch({ metadata: { labels: { team: "shop" } } });
    await rig.clock.advance(60_000);
    expect((await rig.read()).status?.["topologyCalculationTime"]).toBe("2023-11-14T22:13:20Z");
    await rig.patch({ spec: { topologySortingAlgorithm: "ReverseKahn" } });
    await rig.clock.advance(500);
    expect(await rig.indices()).toEqual({ P1: 3, P2: 2, P3: 1 });
    expect((await rig.read()).status?.["topologyCalculationTime"]).toBe("2023-11-14T23:14:20Z");
  });

  it("has nothing to write after a restart", async () => {
    await rig.group();
    await rig.store.create(pod("p1", "a1"));
    await rig.start();
    await rig.controller?.stop();
    const { resourceVersion } = (await rig.read()).metadata;
    rig.watched.writes = 0;
    await rig.start();
    await rig.clock.advance(60_000);
    expect(rig.watched.writes).toBe(0);
    expect((await rig.read()).metadata.resourceVersion).toBe(resourceVersion);
  });

  it("counts pods as they come, run and go, with few writes", async () => {
    await rig.group();
    await rig.start();
    rig.watched.writes = 0;
    for (let index = 0; index < 200; index++) {
      await rig.store.create(pod(`p${index}`, "a1", "Pending"));
      await rig.clock.advance(50);
      await rig.store.patch(
        { ...KINDS.pod, namespace: "default", name: `p${index}` },
        { status: { phase: "Running" } },
        { subresource: "status" },
      );
      await rig.clock.advance(50);
    }
    await rig.clock.advance(6_000);
    expect((await rig.read()).status?.["runningWorkloads"]).toBe(200);
    // 20 s of changes, at most one write per 5 s.
    expect(rig.watched.writes).toBeLessThanOrEqual(6);
    for (const { metadata } of (await rig.store.list(KINDS.pod)).items)
      await rig.store.delete({ ...KINDS.pod, namespace: "default", name: metadata.name });
    await rig.clock.advance(6_000);
    expect((await rig.read()).status).toMatchObject({ runningWorkloads: 0 });
    expect((await rig.read()).status).not.toHaveProperty("scheduleStartTime");
  });

  it("keeps the start of the group while its pods are replaced", async () => {
    await rig.group();
    await rig.store.create(pod("old", "a1"));
    await rig.start();
    await rig.clock.advance(60_000);
    await rig.store.create(pod("new", "a1"));
    await rig.store.delete({ ...KINDS.pod, namespace: "default", name: "old" });
    await rig.clock.advance(60_000);
    expect((await rig.read()).status?.["scheduleStartTime"]).toBe("2023-11-14T22:13:20Z");
  });

  it("counts pods of its namespace and of those that it names, but not those beside an AppGroup of the same name", async () => {
    const inBatch = { ...workload("P9"), namespace: "batch" };
    const spec = specOf(A1);
    await rig.group({ ...spec, workloads: [...(spec["workloads"] as object[]), { workload: inBatch }] });
    await rig.group(specOf(A1), "a1", "shop");
    await rig.store.create(pod("here", "a1"));
    await rig.store.create(pod("elsewhere", "a1", "Running", "batch"));
    await rig.store.create(pod("theirs", "a1", "Running", "shop"));
    await rig.store.create(pod("stranger", "a1", "Running", "evil"));
    await rig.store.create(pod("other", "b2"));
    await rig.start();
    expect((await rig.read()).status?.["runningWorkloads"]).toBe(2);
    // The group names workloads of namespace default, which has one of that name.
    expect((await rig.read("a1", "shop")).status?.["runningWorkloads"]).toBe(1);
    await rig.store.delete({ ...KINDS.appGroup, namespace: "default", name: "a1" });
    await rig.clock.advance(6_000);
    expect((await rig.read("a1", "shop")).status?.["runningWorkloads"]).toBe(2);
  });

  it("tells of a cycle once, writes the order of the spec, and takes it back when it is mended", async () => {
    await rig.group(specOf({ c: "a", a: "b", b: "c" }));
    await rig.start();
    expect(await rig.indices()).toEqual({ c: 1, a: 2, b: 3 });
    const fault =
      'DependencyCycle: spec.workloads[1] must not depend on itself (all workloads stand in the order of the spec), got "a -> b -> c -> a"';
    expect((await rig.read()).metadata.annotations).toEqual({ [FAULTS_ANNOTATION]: fault });
    expect(await rig.reasons()).toEqual([fault, "TopologyOrderCalculated: order of the spec: c, a, b"]);
    expect(await rig.metric("isochrone_appgroup_faulty_groups")).toEqual([
      "isochrone_appgroup_faulty_groups 1",
    ]);
    await rig.controller?.stop();
    await rig.start();
    await rig.clock.advance(600_000);
    expect((await rig.store.list(KINDS.event)).items).toHaveLength(2);
    await rig.patch({ spec: specOf({ c: "a", a: "b", b: "" }) });
    await rig.clock.advance(500);
    expect(await rig.indices()).toEqual({ c: 1, a: 2, b: 3 });
    expect((await rig.read()).metadata.annotations ?? {}).toEqual({});
    expect(await rig.metric("isochrone_appgroup_faulty_groups")).toEqual([
      "isochrone_appgroup_faulty_groups 0",
    ]);
  });

  it("reports unknown dependencies, repeated selectors and unknown algorithms, and orders the rest", async () => {
    const spec = specOf({ P1: "P2 db", P2: "" }, "BogoSort");
    (spec["workloads"] as unknown[]).push({ workload: { ...workload("P2"), name: "copy" } });
    await rig.group(spec);
    await rig.start();
    expect(await rig.indices()).toEqual({ P1: 1, P2: 2 });
    const told = (await rig.reasons()).map((line) => line.split(":")[0]);
    expect(told).toEqual([
      "DuplicateSelector",
      "TopologyOrderCalculated",
      "UnknownAlgorithm",
      "UnknownDependency",
    ]);
  });

  it("lives with specs of any shape, each group for itself", async () => {
    for (const [name, spec] of Object.entries({
      nothing: {},
      text: { workloads: "P1" },
      numbers: { workloads: [1, 2] },
      nested: { workloads: [{ workload: { selector: { a: 1 } }, dependencies: "no" }] },
    }))
      await rig.group(spec, name);
    await rig.group();
    await rig.start();
    expect(await rig.indices()).toEqual({ P1: 1, P2: 2, P3: 3 });
    for (const name of ["nothing", "text", "numbers", "nested"])
      expect((await rig.read(name)).metadata.annotations?.[FAULTS_ANNOTATION]).toContain("MalformedSpec");
  });

  it("keeps statistics that another component has put into the order", async () => {
    await rig.group();
    await rig.start();
    const { topologyOrder } = (await rig.read()).status as { topologyOrder: Record<string, unknown>[] };
    const statistics = { minCost: 3, avgCost: 4, maxCost: 5 };
    await rig.patch({
      status: {
        topologyOrder: [{ ...topologyOrder[0], workloadStatistics: statistics }, ...topologyOrder.slice(1)],
      },
    });
    rig.watched.writes = 0;
    await rig.clock.advance(10_000);
    expect(rig.watched.writes).toBe(0);
    await rig.patch({ spec: { topologySortingAlgorithm: "ReverseTarjan" } });
    await rig.clock.advance(500);
    expect((await rig.read()).status).toHaveProperty(["topologyOrder", 0], {
      workload: workload("P1"),
      index: 3,
      workloadStatistics: statistics,
    });
  });
});

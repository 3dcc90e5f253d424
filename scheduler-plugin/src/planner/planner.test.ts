// The whole planner on a memory store and a manual clock; the test plays kube-scheduler. Real control plane:
// test/integration/planner.test.ts.
import { KINDS, StoreError } from "@isochrone/kubernetes";
import { PriceTable, readPrices } from "@isochrone/prices";
import type { Decision } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { clusterSnapshot, workflowSnapshot } from "../testing/graphs.ts";
import { NAMESPACE, plannerRig } from "../testing/planner-rig.ts";

describe("the planner", () => {
  const rig = plannerRig();
  const { node, start, gated, nominated, gates, bind, decisionOf, leaseTime } = rig;

  test("nominates where the traffic is, releases, and says that it landed", async () => {
    const { plugin, metric } = await start();
    await gated("p-1");
    await rig.clock.advance(1_000);
    expect(await nominated("p-1")).toBe("n2");
    expect(await gates("p-1")).toEqual([]);
    expect((await decisionOf(plugin, "p-1")).outcome).toBeUndefined();
    await bind("p-1", "n2");
    await rig.clock.advance(100);
    expect((await decisionOf(plugin, "p-1")).outcome).toMatchObject({ result: "landed", node: "n2" });
    expect(await metric('isochrone_planner_landings_total{outcome="landed"}')).toBe(1);
  });

  test("keeps whom the pods of a plan talk to, and asks the scorer about them again", async () => {
    const { plugin } = await start();
    await gated("p-1");
    await rig.clock.advance(1_000);
    await bind("p-1", "n2");
    await rig.clock.advance(100);
    const { app } = plugin;
    const answer = await app.inject("/api/v1/decisions?kind=plan&pod=p-1&now=true");
    const [decision] = answer.json<{ decisions: Decision[] }>().decisions;
    expect(decision!.binding).toMatchObject({ state: "bound", node: "n2", agreement: "as_chosen" });
    const peers = decision!.peers!.map(({ workload, node, rttMs }) => [workload, node, rttMs["n2"]]);
    expect(peers).toEqual([
      ["q", "n2", 0],
      ["r", "n3", 25],
    ]);
    expect(decision!.candidates.find(({ name }) => name === "n2")!.networkMs).toBeCloseTo(25 / 3);
    expect(decision!.now!.candidates.map(({ name }) => name).toSorted()).toEqual(["n1", "n2", "n3"]);
  });

  test("plans by money where it is told to, and says what the traffic costs by both measures", async () => {
    const zones = { n1: "a", n2: "b", n3: "a" };
    const snapshot = clusterSnapshot();
    rig.graphs.setCluster({
      ...snapshot,
      nodes: snapshot.nodes.map((node) => ({ ...node, zone: zones[node.name as keyof typeof zones] })),
    });
    const row = {
      provider: "own",
      from: "*",
      in: 0,
      per: "GB",
      currency: "EUR",
      source: "test",
      date: "2026-01",
    };
    const prices = [
      { ...row, scope: "same-zone", out: 0 },
      { ...row, scope: "zone-to-zone", out: 0.1 },
    ];
    rig.graphs.setPrices(PriceTable.of(readPrices({ replace: true, prices })));
    const { plugin } = await start({ objective: "money" });
    await gated("p-1");
    await rig.clock.advance(1_000);
    expect(await nominated("p-1")).toBe("n2");
    // 500 B/s between p on n2 and r on n3, for 730 hours.
    expect((await decisionOf(plugin, "p-1")).explanation).toContain(
      "Its traffic costs 0.13 EUR a month, by latency 12,500 B/s x ms, at most 13,800 B/s x ms.",
    );
  });

  test("plans by latency where no price is known, and says so", async () => {
    const { plugin } = await start({ objective: "money" });
    await gated("p-1");
    await rig.clock.advance(1_000);
    expect(await nominated("p-1")).toBe("n2");
    expect((await decisionOf(plugin, "p-1")).explanation).toContain(
      "Latency decided, not money: no price table was read.",
    );
  });

  test("plans by what was known before the pods went, and says so", async () => {
    const { plugin } = await start();
    const snapshot = workflowSnapshot();
    const channels = snapshot.channels.map((channel) => ({ ...channel, ageSeconds: 7_200 }));
    rig.graphs.setWorkflow({ ...snapshot, channels });
    await gated("p-1");
    await rig.clock.advance(1_000);
    expect(await nominated("p-1")).toBe("n2");
    expect((await decisionOf(plugin, "p-1")).explanation).toContain(
      "Rates of 2 of its channels are from before its pods went, up to 120 min ago.",
    );
  });

  test("goes where the pod's volume can be attached", async () => {
    const driver = "disks.example.com";
    // q is on n2, whose driver allows one volume and has it.
    for (const [name, count] of [
      ["n2", 1],
      ["n3", 5],
    ] as const)
      await rig.store.create({
        ...KINDS.csiNode,
        metadata: { name },
        spec: { drivers: [{ name: driver, nodeID: name, allocatable: { count } }] },
      });
    const hostnames = { key: "kubernetes.io/hostname", operator: "In", values: ["n2", "n3"] };
    for (const claim of ["data-0", "data-1"]) {
      await rig.store.create({
        ...KINDS.persistentVolume,
        metadata: { name: `pv-${claim}` },
        spec: {
          csi: { driver, volumeHandle: claim },
          claimRef: { namespace: NAMESPACE, name: claim },
          nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [hostnames] }] } },
        },
        status: { phase: "Bound" },
      });
      await rig.store.create({
        ...KINDS.persistentVolumeClaim,
        metadata: {
          namespace: NAMESPACE,
          name: claim,
          annotations: { "pv.kubernetes.io/bind-completed": "yes" },
        },
        spec: { volumeName: `pv-${claim}`, accessModes: ["ReadWriteOnce"] },
        status: { phase: "Bound" },
      });
    }
    await rig.store.create({
      ...KINDS.volumeAttachment,
      metadata: { name: "attached" },
      spec: { attacher: driver, nodeName: "n2", source: { persistentVolumeName: "pv-data-0" } },
    });
    const { plugin } = await start();
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data-1" } }];
    await gated("p-1", "p", "100m", { volumes });
    await rig.clock.advance(1_000);
    expect((await decisionOf(plugin, "p-1")).candidates.filter(({ feasible }) => feasible)).toHaveLength(1);
    expect(await nominated("p-1")).toBe("n3");
  });

  test("leaves a pod of a gang alone, and says why; others of its workflow are planned", async () => {
    const { plugin, metric } = await start();
    await gated("member", "p", "100m", { schedulingGroup: { podGroupName: "gang" } });
    await gated("p-1");
    await rig.clock.advance(1_000);
    expect([await gates("member"), await nominated("member")]).toEqual([[], undefined]);
    expect((await decisionOf(plugin, "member")).explanation).toEqual([
      "Released without a plan (unsupported): it belongs to a scheduling group (gang scheduling)",
    ]);
    expect(await metric('isochrone_planner_unplanned_total{reason="unsupported"}')).toBe(1);
    expect(await nominated("p-1")).toBe("n2");
  });

  test("says what stood against the plan, and takes the nomination back", async () => {
    const { plugin } = await start();
    await gated("p-1");
    await rig.clock.advance(1_000);
    const full = await rig.store.get({ ...KINDS.node, name: "n2" });
    await rig.store.update({ ...full!, spec: { unschedulable: true } });
    await rig.clock.advance(100);
    await bind("p-1", "n3");
    await rig.clock.advance(100);
    const { outcome } = await decisionOf(plugin, "p-1");
    expect(outcome).toMatchObject({ result: "elsewhere", node: "n3" });
    expect(outcome!.reason).toMatch(/n2 was no longer allowed: .*unschedulable.* \(NodeUnschedulable\)/);
    expect(await nominated("p-1")).toBeUndefined();
  });

  test("a pod that kube-scheduler finds no node for loses its nomination, which others could use", async () => {
    const { plugin } = await start();
    await gated("p-1");
    await rig.clock.advance(1_000);
    const condition = {
      type: "PodScheduled",
      status: "False",
      reason: "Unschedulable",
      message: "0/3 nodes",
    };
    await rig.store.patch(
      { ...KINDS.pod, namespace: NAMESPACE, name: "p-1" },
      { status: { conditions: [condition] } },
      { subresource: "status" },
    );
    await rig.clock.advance(100);
    expect((await decisionOf(plugin, "p-1")).outcome).toMatchObject({
      result: "unschedulable",
      reason: "0/3 nodes",
    });
    expect(await nominated("p-1")).toBeUndefined();
  });

  test("a pod that nobody schedules loses its nomination after a while", async () => {
    const { metric } = await start({ bindTimeoutMs: 10_000 });
    await gated("p-1");
    await rig.clock.advance(9_000);
    expect(await nominated("p-1")).toBe("n2");
    await rig.clock.advance(3_000);
    expect(await nominated("p-1")).toBeUndefined();
    expect(await metric('isochrone_planner_landings_total{outcome="timed_out"}')).toBe(1);
  });

  test("the places of pods under way count for the plans after them", async () => {
    await rig.store.update(
      { ...node("n2", "1"), metadata: (await rig.store.get({ ...KINDS.node, name: "n2" }))!.metadata },
      { subresource: "status" },
    );
    await start();
    await gated("p-1", "p", "800m");
    await rig.clock.advance(1_000);
    await gated("p-2", "p", "800m");
    await rig.clock.advance(1_000);
    expect([await nominated("p-1"), await nominated("p-2")]).toEqual(["n2", "n3"]);
  });

  test("while pods can't be written the heartbeat pauses; they are released when they can", async () => {
    const { metric } = await start();
    await rig.clock.advance(4_000);
    const before = await leaseTime();
    expect(before).toBeDefined();
    rig.refuse(new StoreError("forbidden", "pods is forbidden"));
    await gated("p-1");
    await rig.clock.advance(10_000);
    expect(await metric("isochrone_planner_heartbeat ")).toBe(0);
    expect(
      await metric('isochrone_planner_write_failures_total{write="nominate",reason="forbidden"}'),
    ).toBeGreaterThan(1);
    rig.refuse(null);
    await rig.clock.advance(5_000);
    expect(await gates("p-1")).toEqual([]);
    expect(await nominated("p-1")).toBe("n2");
    await rig.clock.advance(5_000);
    expect(await metric("isochrone_planner_heartbeat ")).toBe(1);
  });

  test("a pod that could not be released by its deadline is released without a plan as soon as it can", async () => {
    const { metric } = await start({ deadlineMs: 20_000 });
    rig.refuse(new StoreError("unavailable", "the API server is away"));
    await gated("p-1");
    await rig.clock.advance(25_000);
    rig.refuse(null);
    await rig.clock.advance(5_000);
    expect(await gates("p-1")).toEqual([]);
    expect(await nominated("p-1")).toBeUndefined();
    expect(await metric('isochrone_planner_unplanned_total{reason="deadline"}')).toBe(1);
  });

  test("stale graphs are not planned by, and pods don't wait for them", async () => {
    const { plugin, metric } = await start();
    await rig.clock.advance(120_000);
    await gated("p-1");
    await rig.clock.advance(1_000);
    expect(await gates("p-1")).toEqual([]);
    expect((await decisionOf(plugin, "p-1")).explanation[0]).toMatch(/\(stale_graph\): the cluster graph is/);
    expect(await metric("isochrone_planner_heartbeat ")).toBe(0);
  });

  test.each([
    ["takes its place until it is bound", "3500m", "n3"],
    ["takes no place where it has no room", "1000", "n2"],
  ])("what somebody before bound to a node %s", async (_, cpu, to) => {
    const pod = await gated("before", "other", cpu, { schedulingGates: [] });
    const metadata = { uid: pod.metadata.uid!, annotations: { "isochrone.dev/planned-node": "n2" } };
    await rig.store.patch({ ...KINDS.pod, namespace: NAMESPACE, name: "before" }, { metadata });
    await start();
    await gated("p-1", "p", "1");
    await rig.clock.advance(1_000);
    expect(await nominated("p-1")).toBe(to);
  });

  test("what a predecessor has nominated and not released is released as it is; what it has released is followed", async () => {
    await gated("half");
    await rig.store.patch(
      { ...KINDS.pod, namespace: NAMESPACE, name: "half" },
      { status: { nominatedNodeName: "n1" } },
      { subresource: "status" },
    );
    const released = await gated("sent");
    await rig.store.jsonPatch({ ...KINDS.pod, namespace: NAMESPACE, name: "sent" }, [
      { op: "remove", path: "/spec/schedulingGates" },
      { op: "add", path: "/metadata/annotations", value: { "isochrone.dev/planned-node": "n1" } },
    ]);
    await rig.store.patch(
      { ...KINDS.pod, namespace: NAMESPACE, name: "sent" },
      { metadata: { uid: released.metadata.uid }, status: { nominatedNodeName: "n1" } },
      { subresource: "status" },
    );
    const { metric } = await start({ bindTimeoutMs: 10_000 });
    await rig.clock.advance(2_000);
    expect([await nominated("half"), await gates("half")]).toEqual(["n1", []]);
    await rig.clock.advance(12_000);
    expect(await nominated("sent")).toBeUndefined();
    expect(await metric('isochrone_planner_landings_total{outcome="timed_out"}')).toBe(1);
  });

  test("the heartbeat is taken away when the planner stops", async () => {
    const { plugin } = await start();
    await rig.clock.advance(4_000);
    expect(await leaseTime()).toMatch(/^\d{4}-.*\d{6}Z$/);
    const stopped = plugin.stop();
    await rig.clock.advance(10_000);
    await stopped;
    expect((await leaseTime()) ?? null).toBeNull();
  });
});

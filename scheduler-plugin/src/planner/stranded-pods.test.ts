import { KINDS, PLACEMENT_GATE } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { NAMESPACE, plannerRig } from "../testing/planner-rig.ts";

describe("pods of a controller", () => {
  const rig = plannerRig();
  const { start, nominated, gates } = rig;
  const owned = async (name: string, apiVersion = "apps/v1", kind = "ReplicaSet"): Promise<unknown> =>
    rig.store.create({
      ...KINDS.pod,
      metadata: {
        namespace: NAMESPACE,
        name,
        labels: { app: "p", "isochrone.dev/workflow": "flow" },
        ownerReferences: [{ apiVersion, kind, name: "p-5d4f", uid: "p-5d4f", controller: true }],
      },
      spec: {
        terminationGracePeriodSeconds: 0,
        schedulingGates: [{ name: PLACEMENT_GATE }],
        containers: [{ name: "main", image: "none", resources: { requests: { cpu: "800m" } } }],
      },
    });
  const podOf = (name: string): Promise<KubernetesObject | null> =>
    rig.store.get({ ...KINDS.pod, namespace: NAMESPACE, name });
  const among = async (name: string): Promise<string | undefined> =>
    (await podOf(name))?.metadata.annotations?.["isochrone.dev/planned-among"];
  const unschedulable = (name: string): Promise<unknown> =>
    rig.store.patch(
      { ...KINDS.pod, namespace: NAMESPACE, name },
      {
        status: {
          conditions: [
            {
              type: "PodScheduled",
              status: "False",
              reason: "Unschedulable",
              message: "0/3 nodes are available",
            },
          ],
        },
      },
      { subresource: "status" },
    );

  test("are bound to the planned node and two others by one request, without a nomination", async () => {
    await start();
    await owned("p-1");
    await rig.clock.advance(1_000);
    expect([await gates("p-1"), await nominated("p-1")]).toEqual([[], undefined]);
    expect((await among("p-1"))!.split(",")[0]).toBe("n2");
    expect(new Set((await among("p-1"))!.split(","))).toEqual(new Set(["n1", "n2", "n3"]));
  });

  test("are nominated where fewer nodes have room: an autoscaler may make some", async () => {
    await rig.store.patch({ ...KINDS.node, name: "n3" }, { spec: { unschedulable: true } });
    await start();
    await owned("p-1");
    await rig.clock.advance(1_000);
    expect([await nominated("p-1"), await among("p-1")]).toEqual(["n2", undefined]);
  });

  test("are replaced when none of their nodes takes them, and the replacement is released without a plan", async () => {
    const { metric } = await start();
    await owned("p-1");
    await rig.clock.advance(1_000);
    await unschedulable("p-1");
    await rig.clock.advance(3_000);
    expect(await podOf("p-1")).not.toBeNull();
    await rig.clock.advance(4_000);
    expect(await podOf("p-1")).toBeNull();
    expect(await metric('isochrone_planner_stranded_pods_total{outcome="replaced"}')).toBe(1);
    await owned("p-2");
    await rig.clock.advance(1_000);
    expect([await gates("p-2"), await nominated("p-2"), await among("p-2")]).toEqual([
      [],
      undefined,
      undefined,
    ]);
    expect(await metric('isochrone_planner_unplanned_total{reason="replacement"}')).toBe(1);
    await owned("p-3");
    await rig.clock.advance(1_000);
    expect([await nominated("p-3"), await among("p-3")]).toEqual(["n2", undefined]);
    await unschedulable("p-3");
    await rig.clock.advance(20_000);
    expect(await podOf("p-3")).not.toBeNull();
  });

  test.each([
    ["batch/v1", "Job"],
    ["argoproj.io/v1alpha1", "Workflow"],
  ])("are nominated and never replaced where that counts as a failure: %s %s", async (...owner) => {
    await start();
    await owned("p-1", ...owner);
    await rig.clock.advance(1_000);
    expect([await nominated("p-1"), await among("p-1")]).toEqual(["n2", undefined]);
    const annotations = { "isochrone.dev/planned-among": "n1,n2" };
    await rig.store.patch({ ...KINDS.pod, namespace: NAMESPACE, name: "p-1" }, { metadata: { annotations } });
    await unschedulable("p-1");
    await rig.clock.advance(20_000);
    expect(await podOf("p-1")).not.toBeNull();
  });

  test("that belong to a gang since are never taken away alone", async () => {
    const { metric } = await start();
    await owned("p-1");
    await rig.clock.advance(1_000);
    expect(await among("p-1")).toBeDefined();
    await rig.store.patch(
      { ...KINDS.pod, namespace: NAMESPACE, name: "p-1" },
      { metadata: { labels: { "scheduling.x-k8s.io/pod-group": "g" } } },
    );
    await unschedulable("p-1");
    await rig.clock.advance(20_000);
    expect(await podOf("p-1")).not.toBeNull();
    expect(await metric("isochrone_planner_stranded_pods_total")).toBe(0);
  });

  test("that find a node in time are left alone", async () => {
    const { metric } = await start();
    await owned("p-1");
    await rig.clock.advance(1_000);
    await unschedulable("p-1");
    await rig.clock.advance(3_000);
    await rig.store.bind({ namespace: NAMESPACE, name: "p-1" }, "n3");
    await rig.clock.advance(20_000);
    expect(await podOf("p-1")).not.toBeNull();
    expect(await metric("isochrone_planner_stranded_pods_total")).toBe(0);
  });
});

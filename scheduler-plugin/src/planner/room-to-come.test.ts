import { KINDS } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { NAMESPACE, plannerRig } from "../testing/planner-rig.ts";

describe("a workflow whose pods are being deleted", () => {
  const rig = plannerRig();
  const old = { ...KINDS.pod, namespace: NAMESPACE, name: "old" };
  const ending = async (gracePeriodSeconds: number): Promise<void> => {
    await rig.gated("old", "p", "3900m", { schedulingGates: [] });
    await rig.bind("old", "n2");
    await rig.store.patch(old, { status: { phase: "Running" } }, { subresource: "status" });
    await rig.store.delete(old, { gracePeriodSeconds });
  };
  const nodeAfter = async (ms: number): Promise<unknown> => {
    await rig.clock.advance(ms);
    return await rig.nominated("new");
  };

  test("is planned when they are gone, to the room that they leave", async () => {
    await rig.start();
    await ending(3);
    await rig.gated("new", "p", "3900m");
    expect(await nodeAfter(2_900)).toBeUndefined();
    await rig.store.delete(old, { gracePeriodSeconds: 0 });
    expect(await nodeAfter(500)).toBe("n2");
  });

  test("isn't waited for longer than for graphs, even if they have not ended by then", async () => {
    await rig.start();
    await ending(3);
    await rig.gated("new", "p", "3900m");
    expect(await nodeAfter(4_500)).toBeUndefined();
    expect(await nodeAfter(1_000)).toBe("n3");
  });

  test("isn't waited for longer than for its other pods where they may take long", async () => {
    await rig.start();
    await ending(30);
    await rig.gated("new", "p", "3900m");
    expect(await nodeAfter(1_500)).toBeUndefined();
    expect(await nodeAfter(1_000)).toBe("n3");
  });

  test.each([
    ["on a node that takes no pods", true, "flow"],
    ["of another workflow", false, "other"],
  ])("isn't waited for when they are %s", async (_, isCordoned, workflow) => {
    await rig.start();
    await rig.gated("old", "p", "3900m", { schedulingGates: [] });
    const labels = { app: "p", "isochrone.dev/workflow": workflow };
    await rig.store.patch(old, { metadata: { labels } });
    await rig.bind("old", "n2");
    await rig.store.patch(old, { status: { phase: "Running" } }, { subresource: "status" });
    if (isCordoned) await rig.store.patch({ ...KINDS.node, name: "n2" }, { spec: { unschedulable: true } });
    await rig.store.delete(old, { gracePeriodSeconds: 3 });
    await rig.gated("new", "p", "3900m");
    expect(await nodeAfter(1_000)).toBe("n3");
  });
});

import { expect, it } from "vitest";
import { pod, podRef } from "./harness.ts";
import type { StoreHarness } from "./harness.ts";

export function describeBinding(under: StoreHarness): void {
  it("sets the node once and says that the pod is scheduled", async () => {
    await under.store.create(pod("a"));
    await under.store.bind({ namespace: "default", name: "a" }, "n1");
    const bound = await under.store.get(podRef("a"));
    expect(bound?.spec?.["nodeName"]).toBe("n1");
    expect(bound?.status?.["conditions"]).toContainEqual(
      expect.objectContaining({ type: "PodScheduled", status: "True" }),
    );
    await expect(under.store.bind({ namespace: "default", name: "a" }, "n2")).rejects.toMatchObject({
      code: "conflict",
    });
    expect((await under.store.get(podRef("a")))?.spec?.["nodeName"]).toBe("n1");
  });

  it("refuses a pod whose gates are closed", async () => {
    await under.store.create(pod("a", { schedulingGates: [{ name: "isochrone.dev/plan" }] }));
    await expect(under.store.bind({ namespace: "default", name: "a" }, "n1")).rejects.toMatchObject({
      code: "conflict",
    });
  });
}

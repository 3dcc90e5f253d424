import { KINDS } from "@isochrone/kubernetes";
import { expect, it } from "vitest";
import { pod, podRef } from "./harness.ts";
import type { StoreHarness } from "./harness.ts";

const BUDGET = { ...KINDS.podDisruptionBudget, namespace: "default", name: "b" };

export function describeEviction(under: StoreHarness): void {
  const a = { namespace: "default", name: "a" };

  const guarded = async (disruptionsAllowed: number): Promise<string> => {
    const { metadata } = await under.store.create(pod("a", {}, { labels: { app: "a" } }));
    await under.store.bind(a, "n1");
    const conditions = [{ type: "Ready", status: "True" }];
    await under.store.patch(
      podRef("a"),
      { status: { phase: "Running", conditions } },
      { subresource: "status" },
    );
    const budget = await under.store.create({
      apiVersion: BUDGET.apiVersion,
      kind: BUDGET.kind,
      metadata: { name: "b", namespace: "default" },
      spec: { minAvailable: 1, selector: { matchLabels: { app: "a" } } },
    });
    const status = {
      observedGeneration: budget.metadata.generation,
      disruptionsAllowed,
      currentHealthy: 1,
      desiredHealthy: 1,
      expectedPods: 1,
    };
    await under.store.patch(BUDGET, { status }, { subresource: "status" });
    return metadata.uid!;
  };

  it("deletes the pod with its grace, and counts it against the budget", async () => {
    await guarded(1);
    await under.store.evict(a, { gracePeriodSeconds: 7 });
    const evicted = await under.store.get(podRef("a"));
    expect(evicted?.metadata.deletionGracePeriodSeconds).toBe(7);
    expect((await under.store.get(BUDGET))?.status).toMatchObject({ disruptionsAllowed: 0 });
  });

  it("is refused while the budget is spent, and leaves the pod alone", async () => {
    await guarded(0);
    await expect(under.store.evict(a)).rejects.toMatchObject({ code: "too_many_requests", retryable: true });
    expect((await under.store.get(podRef("a")))?.metadata.deletionTimestamp).toBeUndefined();
  });

  it("is refused for another pod of that name, or another version of it", async () => {
    const uid = await guarded(5);
    for (const preconditions of [
      { uid: "00000000-0000-4000-8000-00000000ffff" },
      { uid, resourceVersion: "999999999" },
    ]) {
      await expect(under.store.evict(a, { preconditions })).rejects.toMatchObject({ code: "conflict" });
      await expect(under.store.delete(podRef("a"), { preconditions })).rejects.toMatchObject({
        code: "conflict",
      });
    }
    expect((await under.store.get(podRef("a")))?.metadata.deletionTimestamp).toBeUndefined();
    const { resourceVersion } = (await under.store.get(podRef("a")))!.metadata;
    await under.store.delete(podRef("a"), {
      preconditions: { uid, resourceVersion: resourceVersion! },
      gracePeriodSeconds: 0,
    });
    expect(await under.store.get(podRef("a"))).toBeNull();
  });

  it("says not_found for a pod that is gone", async () => {
    await expect(under.store.evict(a)).rejects.toMatchObject({ code: "not_found" });
  });
}

import { KINDS, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { ManualClock } from "@isochrone/runtime/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { applyObjects, TOSCA_FIELD_MANAGER, type AppliedObject, type ApplyPlan } from "./apply.ts";

describe("applying objects", () => {
  let store: ClusterStore;
  const ref = { ...KINDS.deployment, namespace: "shop", name: "web" };
  const deployment = (replicas: number, labels: Record<string, string> = {}): KubernetesObject => ({
    ...KINDS.deployment,
    metadata: { namespace: "shop", name: "web", labels },
    spec: { replicas, template: { spec: { containers: [{ name: "web", image: "web:1" }] } } },
  });

  beforeEach(() => {
    store = createMemoryStore({ clock: new ManualClock() });
  });

  async function apply(object: KubernetesObject, plan: ApplyPlan = {}): Promise<unknown> {
    const done: AppliedObject[] = [];
    await applyObjects(store, [object], plan, (applied) => done.push(applied));
    return done.map(({ outcome, changes }) => [outcome, ...changes]);
  }

  it("tells what was created, what changed, and what did not", async () => {
    expect(await apply(deployment(1))).toEqual([["created"]]);
    expect(await apply(deployment(1))).toEqual([["unchanged"]]);
    expect(await apply(deployment(2, { app: "web" }))).toEqual([
      ["changed", "spec.replicas", "metadata.labels.app"],
    ]);
  });

  it("changes nothing in a dry run", async () => {
    expect(await apply(deployment(1), { dryRun: true })).toEqual([["created"]]);
    expect(await store.get(ref)).toBe(null);
    await apply(deployment(1));
    expect(await apply(deployment(2), { dryRun: true })).toEqual([["changed", "spec.replicas"]]);
    expect((await store.get(ref))!.spec!["replicas"]).toBe(1);
  });

  it("leaves to others what is theirs, unless it is told to take it", async () => {
    await store.apply(deployment(5), { fieldManager: "autoscaler" });
    await expect(apply(deployment(1))).rejects.toMatchObject({ code: "conflict" });
    expect(await apply(deployment(1), { force: true })).toEqual([["changed", "spec.replicas"]]);
    await store.patch(ref, { metadata: { labels: { other: "x" } } }, { fieldManager: "kubectl" });
    await apply(deployment(1, { app: "web" }));
    await apply(deployment(1));
    expect((await store.get(ref))!.metadata.labels).toEqual({ other: "x" });
    expect(TOSCA_FIELD_MANAGER).toBe("isochrone-tosca");
  });
});

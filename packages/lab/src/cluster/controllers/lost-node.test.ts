import { hasCondition, KINDS } from "@isochrone/kubernetes";
import type { ClusterStore } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { ManualClock } from "@isochrone/runtime/testing";
import { describe, expect, it } from "vitest";
import { nodeObject } from "../kubelet/node-object.ts";
import { sites } from "../testing/builders.ts";
import { loseNode } from "./lost-node.ts";

async function clusterOf(clock: ManualClock): Promise<ClusterStore> {
  const store = createMemoryStore({ clock });
  for (const site of sites(2)) await store.create(nodeObject(site, "127.0.0.1", 1, 0));
  for (const [name, nodeName] of [
    ["a", "n1"],
    ["b", "n1"],
    ["c", "n2"],
  ] as const)
    await store.create({
      ...KINDS.pod,
      metadata: { name, namespace: "default" },
      spec: { nodeName, terminationGracePeriodSeconds: 30, containers: [] },
      status: { phase: "Running" },
    });
  return store;
}

describe("a node that is lost", () => {
  it("isn't ready once its kubelet was silent for long enough, and its pods go without waiting for it", async () => {
    const clock = new ManualClock(0);
    const store = await clusterOf(clock);
    const nodeOf = (name: string) => store.get({ ...KINDS.node, name });
    const lost = loseNode({ store, node: "n1", graceMs: 5_000, clock, signal: new AbortController().signal });
    await clock.advance(4_999);
    expect(hasCondition((await nodeOf("n1"))!, "Ready")).toBe(true);
    await clock.advance(2);
    expect((await lost).map(({ metadata }) => metadata.name)).toEqual(["a", "b"]);
    const node = (await nodeOf("n1"))!;
    expect(hasCondition(node, "Ready")).toBe(false);
    expect(node.spec!["taints"]).toContainEqual({
      key: "node.kubernetes.io/unreachable",
      effect: "NoExecute",
    });
    expect(hasCondition((await nodeOf("n2"))!, "Ready")).toBe(true);
    expect((await store.list(KINDS.pod)).items.map(({ metadata }) => metadata.name)).toEqual(["c"]);
  });

  it("is none when the lab ends before that", async () => {
    const clock = new ManualClock(0);
    const store = await clusterOf(clock);
    const ending = new AbortController();
    const lost = loseNode({ store, node: "n1", clock, signal: ending.signal });
    ending.abort();
    await expect(lost).rejects.toBeDefined();
    expect((await store.list(KINDS.pod)).items).toHaveLength(3);
  });
});

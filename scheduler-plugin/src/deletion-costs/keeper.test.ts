import { KINDS, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { channel, links, node, workload } from "@isochrone/placement/testing";
import { beforeEach, describe, expect, test } from "vitest";
import type { ManualClock } from "@isochrone/runtime/testing";
import { MemoryGraphs } from "../testing/graphs.ts";
import { rigClock, running } from "../testing/rig.ts";

const COST = "controller.kubernetes.io/pod-deletion-cost";
const OWN = "isochrone.dev/deletion-cost";
const NODES = ["n1", "n2", "n3"];
const ROUND_MS = 60_000;

describe("deletion costs of pods", () => {
  let clock: ManualClock;
  let graphs: MemoryGraphs;
  let store: ClusterStore;
  let patches: string[];

  beforeEach(async () => {
    clock = rigClock();
    graphs = new MemoryGraphs();
    const memory = createMemoryStore({ clock });
    patches = [];
    store = new Proxy(memory, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        return (...given: [{ name: string }, ...unknown[]]) => {
          if (name === "patch") patches.push(given[0].name);
          return member.apply(target, given) as unknown;
        };
      },
    });
    for (const name of NODES) await memory.create({ ...KINDS.node, metadata: { name } });
    for (const [at, on] of NODES.entries()) await addPod(`db-${at + 1}`, on);
    say(30);
  });

  async function addPod(name: string, on: string, kind = "ReplicaSet"): Promise<void> {
    await store.create({
      ...KINDS.pod,
      metadata: {
        namespace: "shop",
        name,
        labels: { "pod-template-hash": "1" },
        ownerReferences: [{ apiVersion: "apps/v1", kind, name: "db-1", uid: "rs-db", controller: true }],
      },
      spec: { containers: [{ name: "main" }] },
      status: { phase: "Running" },
    });
    await store.bind({ namespace: "shop", name }, on);
  }

  function say(farMs: number): void {
    const observedAt = new Date(clock.now()).toISOString();
    const around = { version: 1, observedAt };
    const use = { cpu: 1, memory: 1 };
    const places = Object.fromEntries(NODES.map((on, at) => [`db-${at + 1}`, on]));
    graphs.setCluster({
      ...around,
      windowSeconds: 30,
      nodes: NODES.map((name) => node(name, 1_000, 1e9)),
      links: links(["n1", "n2", 5], ["n1", "n3", farMs], ["n2", "n3", farMs]),
    });
    graphs.setWorkflow({
      ...around,
      namespace: "shop",
      name: "flow",
      workloads: [workload("web", use, { "web-1": "n1" }), workload("db", use, places)],
      channels: [channel("web", "db", 30_000)],
    });
  }

  const start = (mode: string) =>
    running({ deletionCosts: mode, podEvents: false }, { clock, graphs, store });
  const next = async (farMs: number): Promise<void> => {
    say(farMs);
    await clock.advance(ROUND_MS);
    // A round takes several turns of the event loop.
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  const pods = async (): Promise<KubernetesObject[]> =>
    (await store.list(KINDS.pod, { namespace: "shop" })).items;
  const said = async (annotation = COST): Promise<Record<string, string | undefined>> =>
    Object.fromEntries(
      (await pods()).map(({ metadata }) => [metadata.name, metadata.annotations?.[annotation]]),
    );
  const annotate = (name: string, annotations: Record<string, string | null>): Promise<unknown> =>
    store.patch({ ...KINDS.pod, namespace: "shop", name }, { metadata: { annotations } });

  test("put the pod first that is missed least, and the one last that is missed most", async () => {
    await start("write");
    await next(30);
    // Mean request: 2.5 ms without db-3, 15 ms without db-2, 17.5 ms without db-1.
    expect(await said()).toEqual({ "db-1": undefined, "db-2": "-16", "db-3": "-99" });
    expect(await said(OWN)).toEqual(await said());
  });

  test("are written again only when another pod would be missed less", async () => {
    await start("write");
    await next(30);
    expect(patches.toSorted()).toEqual(["db-2", "db-3"]);
    await next(25);
    await next(40);
    expect(patches).toHaveLength(2);
    await next(0.5);
    expect(Number((await said())["db-2"])).toBe(-99);
  });

  test("are left alone where somebody else says one, then or later", async () => {
    await annotate("db-2", { [COST]: "7" });
    await start("write");
    await next(30);
    expect(await said()).toEqual({ "db-1": undefined, "db-2": "7", "db-3": undefined });
    await annotate("db-2", { [COST]: null });
    await next(30);
    expect((await said())["db-3"]).toBe("-99");
    await annotate("db-3", { [COST]: "100" });
    await next(30);
    expect(await said()).toEqual({ "db-1": undefined, "db-2": undefined, "db-3": "100" });
    expect(await said(OWN)).toEqual({ "db-1": undefined, "db-2": undefined, "db-3": undefined });
  });

  test("aren't written while the graphs are stale, nor on pods of no ReplicaSet", async () => {
    for (const { metadata } of await pods())
      await store.delete({ ...KINDS.pod, namespace: "shop", name: metadata.name }, { gracePeriodSeconds: 0 });
    for (const [at, on] of NODES.entries()) await addPod(`db-${at + 1}`, on, "StatefulSet");
    await start("write");
    await next(30);
    for (const { metadata } of await pods())
      await store.delete({ ...KINDS.pod, namespace: "shop", name: metadata.name }, { gracePeriodSeconds: 0 });
    await clock.advance(3 * ROUND_MS);
    for (const [at, on] of NODES.entries()) await addPod(`db-${at + 1}`, on);
    await clock.advance(3 * ROUND_MS);
    expect(patches).toEqual([]);
  });

  test("are taken back by `remove`, and those of others stay", async () => {
    const { plugin } = await start("write");
    await next(30);
    await plugin.stop();
    await annotate("db-1", { [COST]: "5" });
    await start("remove");
    await next(30);
    expect(await said()).toEqual({ "db-1": "5", "db-2": undefined, "db-3": undefined });
    expect(await said(OWN)).toEqual({ "db-1": undefined, "db-2": undefined, "db-3": undefined });
  });

  test("are off unless somebody asks for them", async () => {
    await running({ podEvents: false }, { clock, graphs, store });
    await next(30);
    expect(patches).toEqual([]);
  });
});

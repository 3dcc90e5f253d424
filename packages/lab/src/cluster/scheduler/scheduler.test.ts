import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { conditionsOf, createInformer, KINDS, podView } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { nodeObject } from "../kubelet/node-object.ts";
import { sites } from "../testing/builders.ts";
import type { ExtenderConfig } from "./extender.ts";
import { Scheduler } from "./scheduler.ts";
import type { Placement } from "./scheduler.ts";

interface Call {
  readonly url: string;
  readonly body: Record<string, unknown>;
}

async function extender(
  answer: (call: Call) => { status?: number; body: unknown } | null,
): Promise<{ urlPrefix: string; calls: Call[] }> {
  const calls: Call[] = [];
  const server = createServer((incoming, outgoing) => {
    let text = "";
    incoming.on("data", (chunk) => (text += String(chunk)));
    incoming.on("end", () => {
      const call = { url: incoming.url!, body: JSON.parse(text) as Record<string, unknown> };
      calls.push(call);
      const result = answer(call);
      if (result !== null)
        outgoing
          .writeHead(result.status ?? 200, { "content-type": "application/json" })
          .end(JSON.stringify(result.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { urlPrefix: `http://127.0.0.1:${(server.address() as AddressInfo).port}/scheduler/`, calls };
}

async function setUp(
  options: { nodes?: number; placement?: Placement; extender?: ExtenderConfig } = {},
): Promise<{ store: ClusterStore; scheduler: Scheduler }> {
  const store = createMemoryStore({ clock: systemClock });
  for (const site of sites(options.nodes ?? 3, 1_000))
    await store.create(nodeObject(site, "127.0.0.1", 1, 0));
  const shared = { store, clock: systemClock, random: seededRandom(1), logger: new MemoryLogger() };
  const pods = createInformer({ ...shared, kind: KINDS.pod });
  const nodes = createInformer({ ...shared, kind: KINDS.node });
  const scheduler = new Scheduler({
    ...shared,
    pods,
    nodes,
    placement: options.placement ?? "score",
  });
  if (options.extender !== undefined) scheduler.setExtender(options.extender);
  onTestFinished(async () => {
    await Promise.all([pods.stop(), nodes.stop(), scheduler.stop()]);
  });
  return { store, scheduler };
}

function pod(name: string, cpu = "100m"): KubernetesObject {
  return {
    ...KINDS.pod,
    metadata: { name, namespace: "default" },
    spec: { containers: [{ name: "app", resources: { requests: { cpu } } }] },
    status: { phase: "Pending" },
  };
}

const get = (store: ClusterStore, name: string): Promise<KubernetesObject | null> =>
  store.get({ ...KINDS.pod, namespace: "default", name });

async function nodeOf(store: ClusterStore, name: string): Promise<string> {
  return vi.waitFor(async () => {
    const node = podView((await get(store, name))!).node;
    expect(node).not.toBeNull();
    return node!;
  });
}

async function refusal(store: ClusterStore, name: string): Promise<string> {
  return vi.waitFor(async () => {
    const condition = conditionsOf((await get(store, name))!).find(({ type }) => type === "PodScheduled");
    expect(condition).toMatchObject({ status: "False", reason: "Unschedulable" });
    return condition!.message!;
  });
}

const all = { filterVerb: "filter", prioritizeVerb: "prioritize", nodeCacheCapable: true, weight: 1 };

describe("the scheduler with an extender", () => {
  it("takes the nominated node of a pod that fits there, and any other when it doesn't", async () => {
    const { store, scheduler } = await setUp({ nodes: 3 });
    const nominated = (name: string, cpu: string): KubernetesObject => ({
      ...pod(name, cpu),
      status: { phase: "Pending", nominatedNodeName: "n2" },
    });
    await store.create(nominated("first", "900m"));
    scheduler.start();
    const bound = (name: string): Promise<string> =>
      vi.waitFor(
        async () => podView((await get(store, name))!).node ?? Promise.reject(new Error("pending")),
        20_000,
      );
    expect(await bound("first")).toBe("n2");
    await store.create(nominated("second", "900m"));
    scheduler.setExtender(null);
    expect(["n1", "n3"]).toContain(await bound("second"));
  });

  it("spreads pods over the nodes that each prefers most", async () => {
    const { store, scheduler } = await setUp({ nodes: 3, placement: "spread" });
    const prefersN2 = {
      weight: 1,
      preference: { matchFields: [{ key: "metadata.name", operator: "In", values: ["n2"] }] },
    };
    const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution: [prefersN2] };
    for (const name of ["a", "b", "c"]) {
      const made = pod(name, "10m");
      await store.create({ ...made, spec: { ...made.spec, affinity: { nodeAffinity } } });
      await store.create(pod(`free-${name}`, "10m"));
    }
    scheduler.start();
    for (const name of ["a", "b", "c"]) expect(await nodeOf(store, name)).toBe("n2");
    const free = [];
    for (const name of ["a", "b", "c"]) free.push(await nodeOf(store, `free-${name}`));
    expect(new Set(free).size).toBeGreaterThan(1);
  });

  it("sends PascalCase arguments with node names and follows the scores", async () => {
    const { urlPrefix, calls } = await extender(({ url, body }) =>
      url.endsWith("/filter")
        ? { body: { NodeNames: body["NodeNames"] } }
        : {
            body: [
              { Host: "n2", Score: 10 },
              { Host: "n1", Score: 0 },
            ],
          },
    );
    const { store, scheduler } = await setUp({ extender: { urlPrefix, ...all } });
    await store.create(pod("p"));
    scheduler.start();
    expect(await nodeOf(store, "p")).toBe("n2");
    expect(calls.map(({ url }) => url)).toEqual(["/scheduler/filter", "/scheduler/prioritize"]);
    expect(Object.keys(calls[0]!.body)).toEqual(["Pod", "Nodes", "NodeNames"]);
    expect(calls[0]!.body["Nodes"]).toBeNull();
    expect([...(calls[0]!.body["NodeNames"] as string[])].sort()).toEqual(["n1", "n2", "n3"]);
  });

  it("sends whole nodes to an extender that keeps no cache", async () => {
    const { urlPrefix, calls } = await extender(({ url, body }) =>
      url.endsWith("/filter") ? { body: { Nodes: body["Nodes"] } } : { body: [{ Host: "n3", Score: 10 }] },
    );
    const { store, scheduler } = await setUp({ extender: { urlPrefix, ...all, nodeCacheCapable: false } });
    await store.create(pod("p"));
    scheduler.start();
    expect(await nodeOf(store, "p")).toBe("n3");
    expect((calls[0]!.body["Nodes"] as { items: unknown[] }).items).toHaveLength(3);
    expect(calls[0]!.body["NodeNames"]).toBeNull();
  });

  it("weighs the extender's score times ten: a large weight beats free resources", async () => {
    const { urlPrefix } = await extender(({ url, body }) =>
      url.endsWith("/filter")
        ? { body: { NodeNames: body["NodeNames"] } }
        : { body: [{ Host: "n1", Score: 5 }] },
    );
    const { store, scheduler } = await setUp({ extender: { urlPrefix, ...all, weight: 10 } });
    await store.create({
      ...pod("filler", "800m"),
      spec: { nodeName: "n1", containers: pod("x", "800m").spec!["containers"] },
    });
    await store.create(pod("p"));
    scheduler.start();
    expect(await nodeOf(store, "p")).toBe("n1");
  });

  it("doesn't ask for scores when one node is feasible", async () => {
    const { urlPrefix, calls } = await extender(() => ({
      body: { NodeNames: ["n2"], FailedNodes: { n1: "too far" } },
    }));
    const { store, scheduler } = await setUp({ extender: { urlPrefix, ...all } });
    await store.create(pod("p"));
    scheduler.start();
    expect(await nodeOf(store, "p")).toBe("n2");
    expect(calls).toHaveLength(1);
  });

  it("treats a missing list of names as no feasible node and reports the extender's reasons", async () => {
    const { urlPrefix } = await extender(() => ({
      body: { FailedNodes: { n1: "too far", n2: "too far", n3: "slow" } },
    }));
    const { store, scheduler } = await setUp({ extender: { urlPrefix, ...all } });
    await store.create(pod("p"));
    scheduler.start();
    expect(await refusal(store, "p")).toBe("0/3 nodes are available: 1 slow, 2 too far.");
  });

  it("refuses a reply that names an unknown node", async () => {
    const { urlPrefix } = await extender(() => ({ body: { NodeNames: ["n1", "atlantis"] } }));
    const { store, scheduler } = await setUp({ extender: { urlPrefix, ...all } });
    await store.create(pod("p"));
    scheduler.start();
    expect(await refusal(store, "p")).toContain('claims a filtered node "atlantis"');
  });

  it("gives up on an extender that hangs after its timeout", async () => {
    const { urlPrefix } = await extender(() => null);
    const { store, scheduler } = await setUp({ extender: { urlPrefix, ...all, httpTimeoutMs: 100 } });
    await store.create(pod("p"));
    scheduler.start();
    expect(await refusal(store, "p")).toContain("the answer must end within 100 ms and did not");
  });

  it("goes on without an ignorable extender that fails", async () => {
    const { urlPrefix } = await extender(() => ({ status: 500, body: {} }));
    const { store, scheduler } = await setUp({ extender: { urlPrefix, ...all, ignorable: true } });
    await store.create(pod("p"));
    scheduler.start();
    expect(await nodeOf(store, "p")).toMatch(/^n[123]$/);
  });
});

describe("the scheduler alone", () => {
  it("says in a condition why a pod doesn't fit and places it when room appears", async () => {
    const { store, scheduler } = await setUp();
    await store.patch({ ...KINDS.node, name: "n1" }, { spec: { unschedulable: true } });
    await store.create(pod("big", "4"));
    scheduler.start();
    expect(await refusal(store, "big")).toBe(
      "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu.",
    );
    await store.patch(
      { ...KINDS.node, name: "n2" },
      { status: { allocatable: { cpu: "8" } } },
      { subresource: "status" },
    );
    await vi.waitFor(async () => expect(podView((await get(store, "big"))!).node).toBe("n2"), {
      timeout: 5_000,
    });
  });

  it("never gives a node more than it has", async () => {
    const { store, scheduler } = await setUp({ nodes: 2 });
    for (let index = 0; index < 5; index++) await store.create(pod(`p${index}`, "500m"));
    scheduler.start();
    const message = await refusal(store, "p4");
    const nodes = await Promise.all(["p0", "p1", "p2", "p3"].map((name) => nodeOf(store, name)));
    expect(nodes.filter((node) => node === "n1")).toHaveLength(2);
    expect(message).toBe("0/2 nodes are available: 2 Insufficient cpu.");
  });

  it("spreads over nodes with regions taking turns", async () => {
    const { store, scheduler } = await setUp({ nodes: 4, placement: "spread" });
    for (let index = 0; index < 4; index++) await store.create(pod(`p${index}`));
    scheduler.start();
    const nodes = await Promise.all([0, 1, 2, 3].map((index) => nodeOf(store, `p${index}`)));
    expect(nodes).toEqual(["n1", "n2", "n3", "n4"]);
  });

  it("leaves gated pods alone", async () => {
    const { store, scheduler } = await setUp();
    await store.create({
      ...pod("gated"),
      spec: { ...pod("gated").spec, schedulingGates: [{ name: "isochrone.dev/plan" }] },
    });
    await store.create(pod("open"));
    scheduler.start();
    await nodeOf(store, "open");
    expect(podView((await get(store, "gated"))!).node).toBeNull();
  });

  it("places a pod without requests on a node that has promised more than it has", async () => {
    const { store, scheduler } = await setUp({ nodes: 1 });
    await store.create({ ...pod("running", "800m"), spec: { ...pod("x", "800m").spec, nodeName: "n1" } });
    await store.patch(
      { ...KINDS.node, name: "n1" },
      { status: { allocatable: { cpu: "500m" } } },
      { subresource: "status" },
    );
    await store.create({ ...pod("idle"), spec: { containers: [{ name: "app" }] } });
    await store.create(pod("busy"));
    scheduler.start();
    expect(await nodeOf(store, "idle")).toBe("n1");
    expect(await refusal(store, "busy")).toBe("0/1 nodes are available: 1 Insufficient cpu.");
  });

  it("keeps replicas of a Service apart where a node without them has as much left", async () => {
    const { store, scheduler } = await setUp({ nodes: 3 });
    await store.create({
      ...KINDS.service,
      metadata: { name: "web", namespace: "default" },
      spec: { selector: { app: "web" } },
    });
    for (let index = 0; index < 3; index++) {
      const replica = pod(`p${index}`);
      await store.create({ ...replica, metadata: { ...replica.metadata, labels: { app: "web" } } });
    }
    scheduler.start();
    const nodes = await Promise.all([0, 1, 2].map((index) => nodeOf(store, `p${index}`)));
    expect(nodes.sort()).toEqual(["n1", "n2", "n3"]);
  });
});

import { isStoreError, KINDS } from "@isochrone/kubernetes";
import type { InformerChange, KubernetesObject } from "@isochrone/kubernetes";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

import { controlPlaneSupport, startControlPlane } from "../harness/control-plane/index.ts";
import type { ControlPlane, CutProxy, CutProxyOptions } from "../harness/control-plane/index.ts";
import { Testbed, names, node, nodeRef, Observed, soon } from "./cluster-store-api-server/testbed.ts";

const support = controlPlaneSupport([]);
if (!support.supported) console.warn(`faults of the API server skipped: ${support.reason}`);

const ADMIN = { user: "far-admin", groups: ["system:masters"] };

/** Restarts take seconds, and more on a busy machine. */
const PATIENCE = { timeout: 90_000 };

describe.runIf(support.supported)("an API server that is away, slow or overrun", PATIENCE, () => {
  const testbed = new Testbed();
  const proxies: CutProxy[] = [];
  let cluster: ControlPlane;

  beforeAll(async () => {
    cluster = await startControlPlane();
  }, 900_000);
  afterEach(async () => {
    for (const proxy of proxies.splice(0)) proxy.close();
    await testbed.clear();
    await cluster.request("DELETE", "/api/v1/nodes");
  });
  afterAll(async () => cluster?.close());

  const far = async (options: CutProxyOptions = {}): Promise<{ proxy: CutProxy; kubeconfig: string }> => {
    const proxy = await cluster.startCutProxy(options);
    proxies.push(proxy);
    return { proxy, kubeconfig: await cluster.kubeconfigOf(ADMIN, proxy.url) };
  };

  it("lists again after etcd has compacted what it had seen, and tells what went and came meanwhile", async () => {
    const { proxy, kubeconfig } = await far();
    const observed = new Observed();
    const informer = testbed.informer(testbed.store({ kubeconfig }, { observer: observed }));
    const changes: string[] = [];
    informer.onChange(({ type, object }) => changes.push(`${type} ${object.metadata.name}`));
    await cluster.create([node("gone"), node("kept"), node("replaced")]);
    await soon(() => expect(names(informer)).toEqual(["gone", "kept", "replaced"]));
    proxy.refusing = true;
    proxy.cut();
    for (const name of ["gone", "replaced"]) await cluster.remove(nodeRef(name));
    await cluster.create([node("come"), node("replaced")]);
    await cluster.compact();
    await cluster.restartApiServer();
    proxy.refusing = false;
    await soon(() => expect(names(informer)).toEqual(["come", "kept", "replaced"]));
    expect(changes.slice(3).toSorted()).toEqual([
      "added come",
      "added replaced",
      "deleted gone",
      "deleted replaced",
    ]);
    expect(observed.count("list", 200)).toBe(2);
  });

  it("follows an API server whose etcd was restored from a backup, so that versions go back", async () => {
    const { proxy, kubeconfig } = await far();
    await cluster.create(node("kept"));
    const restore = await cluster.backUp();
    const store = testbed.store({ kubeconfig }, { watchSilenceMs: 3_000 });
    const informer = testbed.informer(store);
    await cluster.create(Array.from({ length: 30 }, (_, index) => node(`lost-${index}`)));
    await soon(() => expect(informer.items()).toHaveLength(31));
    proxy.refusing = true;
    proxy.cut();
    await restore();
    proxy.refusing = false;
    await cluster.create(node("new"));
    await soon(() => expect(names(informer)).toEqual(["kept", "new"]));
  });

  it("follows an API server that is restarted under its watch", async () => {
    const store = testbed.store({ kubeconfig: cluster.kubeconfig });
    const informer = testbed.informer(store);
    await cluster.create(node("before"));
    await soon(() => expect(names(informer)).toEqual(["before"]));
    await cluster.restartApiServer();
    await store.create(node("after"));
    await soon(() => expect(names(informer)).toEqual(["after", "before"]));
    await store.patch(nodeRef("after"), { metadata: { labels: { a: "1" } } });
    await soon(() => expect(informer.get("after")?.metadata.labels).toMatchObject({ a: "1" }));
  });

  it("loses nothing and tells nothing twice while every connection is cut each second", async () => {
    const { kubeconfig } = await far({ cutEveryMs: 1_000 });
    const observed = new Observed();
    const informer = testbed.informer(testbed.store({ kubeconfig }, { observer: observed }));
    const told = new Map<string, string>();
    const wrong: string[] = [];
    informer.onChange(({ type, object }: InformerChange) => {
      const { name, resourceVersion = "" } = object.metadata;
      const isKnown = told.has(name);
      if (isKnown === (type === "added") || told.get(name) === resourceVersion) wrong.push(`${type} ${name}`);
      if (type === "deleted") told.delete(name);
      else told.set(name, resourceVersion);
    });
    const endsMs = performance.now() + 6_000;
    for (let i = 0; performance.now() < endsMs; i += 1) {
      await cluster.create(node(`n${i}`));
      if (i % 2 === 0) await cluster.patch(nodeRef(`n${i}`), { metadata: { labels: { i: String(i) } } });
      if (i % 3 === 0) await cluster.remove(nodeRef(`n${i}`));
      await sleep(5);
    }
    const there = await cluster.list("nodes");
    await soon(() => expect(informer.items()).toHaveLength(there.length));
    const versions = new Map(there.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
    await soon(() => expect(told).toEqual(versions));
    expect(wrong).toEqual([]);
    expect(observed.count("watch")).toBeGreaterThan(3);
    expect(there.length).toBeGreaterThan(30);
  });

  it("notices a connection that is dead without a sign, and goes on over a new one", async () => {
    const { proxy, kubeconfig } = await far();
    const observed = new Observed();
    const store = testbed.store(
      { kubeconfig },
      { observer: observed, watchSilenceMs: 1_500, requestTimeoutMs: 1_500 },
    );
    const informer = testbed.informer(store);
    await cluster.create(node("before"));
    await soon(() => expect(names(informer)).toEqual(["before"]));
    await soon(() => expect(observed.count("watch", 200)).toBeGreaterThan(0));
    proxy.freeze();
    await cluster.create(node("meanwhile"));
    await expect(store.list(KINDS.node)).rejects.toMatchObject({ code: "timeout", retryable: true });
    await soon(() => expect(observed.renewals).toContain("Node silent"));
    proxy.cut();
    proxy.thaw();
    await soon(() => expect(names(informer)).toEqual(["before", "meanwhile"]));
    expect(observed.count("list", 200)).toBe(1);
  });

  it("waits as long as a server asks that has too much to do (429), then says so; an informer outlasts it", async () => {
    const identity = { user: "throttled" };
    await cluster.grant(identity, [{ apiGroups: [""], resources: ["nodes"], verbs: ["list", "watch"] }]);
    const kubeconfig = await cluster.kubeconfigOf(identity);
    await cluster.create(node("a"));
    const end = await cluster.throttle(identity);
    const observed = new Observed();
    const store = testbed.store({ kubeconfig }, { observer: observed });
    const startedAtMs = performance.now();
    await expect(store.list(KINDS.node)).rejects.toMatchObject({
      code: "too_many_requests",
      retryable: true,
    });
    expect(performance.now() - startedAtMs).toBeGreaterThan(3_000);
    expect(observed.count("list", 429)).toBe(4);
    const informer = testbed.informer(store);
    await end();
    await soon(() => expect(names(informer)).toEqual(["a"]));
  });

  it("begins a list anew whose version is compacted away between two pages, and gives it whole and of one moment", async () => {
    // Events are not in the API server's cache, which would keep data that etcd has compacted.
    const event = (index: number): KubernetesObject => ({
      ...KINDS.event,
      metadata: { name: `e${index}`, namespace: "default" },
      eventTime: "2026-01-02T03:04:05.000000Z",
      type: "Normal",
      reason: "Tested",
      action: "Test",
      reportingController: "example.com/test",
      reportingInstance: "test",
      regarding: { ...KINDS.node, name: "n" },
    });
    await cluster.create(Array.from({ length: 9 }, (_, i) => event(i)));
    const codes: number[] = [];
    const upset: Promise<unknown>[] = [];
    const observer = {
      requested: ({ verb, code }: { verb: string; code: number }) => {
        if (verb !== "list") return;
        codes.push(code);
        if (upset.length > 0) return;
        const removed = cluster.remove({ ...KINDS.event, namespace: "default", name: "e0" });
        upset.push(removed.then(() => cluster.compact()));
      },
    };
    // One page per second leaves time between two.
    const store = testbed.store(
      { kubeconfig: cluster.kubeconfig },
      { pageSize: 2, qps: 1, burst: 1, observer },
    );
    const { items } = await store.list(KINDS.event);
    await Promise.all(upset);
    expect(codes.filter((code) => code >= 400)).toEqual([410]);
    expect(codes[0]).toBe(200);
    expect(items.map(({ metadata }) => metadata.name)).toEqual(
      Array.from({ length: 8 }, (_, i) => `e${i + 1}`),
    );
  });

  it("says `unavailable` while nobody listens, and does a write at most once", async () => {
    const store = testbed.store({ kubeconfig: cluster.kubeconfig });
    await store.create(node("a"));
    await cluster.stopApiServer();
    const failure = store.create(node("b")).catch((error: unknown) => error);
    expect(isStoreError(await failure, "unavailable")).toBe(true);
    await cluster.startApiServer();
    await store.create(node("b"));
    expect((await store.list(KINDS.node)).items).toHaveLength(2);
  });
});

// Longer than 400 lines because a contract is read, and passed, as one list.
import { KINDS, StoreError } from "@isochrone/kubernetes";
import type {
  ClusterStore,
  KindRef,
  KubernetesObject,
  ObjectMeta,
  ObjectRef,
  WatchEvent,
} from "@isochrone/kubernetes";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

export interface StoreUnderTest {
  readonly store: ClusterStore;
  /** Lets the time pass in which bookmarks are due; undefined where they can't be provoked. */
  readonly pass?: (ms: number) => Promise<void>;
  /** Makes the store forget its oldest changes; undefined where they can't be. */
  readonly overrun?: () => Promise<void>;
  dispose(): Promise<void>;
}

export interface StoreContract {
  /** A store with a namespace "default" and nothing of the contract's kinds in it. */
  readonly create: () => Promise<StoreUnderTest>;
}

const PATIENCE_MS = 5_000;
const node = (name: string, rest: Partial<KubernetesObject> = {}): KubernetesObject =>
  object(KINDS.node, name, rest);
const pod = (
  name: string,
  spec: Record<string, unknown> = {},
  metadata: Partial<ObjectMeta> = {},
): KubernetesObject => ({
  ...object(KINDS.pod, name),
  metadata: { name, namespace: "default", ...metadata },
  spec: { containers: [{ name: "main", image: "pause" }], ...spec },
});
const podRef = (name: string): ObjectRef => ({ ...KINDS.pod, namespace: "default", name });
const nodeRef = (name: string): ObjectRef => ({ ...KINDS.node, name });

/** What Isochrone relies on of an API server. The memory store and the adapter to a real one pass the same. */
export function describeClusterStoreContract(name: string, { create }: StoreContract): void {
  describe(`cluster store contract: ${name}`, () => {
    let under: StoreUnderTest;
    let store: ClusterStore;
    let end: AbortController;
    const waitFor = (check: () => void): Promise<void> =>
      vi.waitFor(check, { timeout: PATIENCE_MS, interval: 5 });

    beforeEach(async () => {
      under = await create();
      ({ store } = under);
      end = new AbortController();
    });
    afterEach(async () => {
      end.abort();
      await under.dispose();
    });

    /** Collects the events of a watch; `done` settles as the iteration does. */
    const follow = (kind: KindRef, resourceVersion: string, namespace?: string) => {
      const events: WatchEvent[] = [];
      const where = namespace === undefined ? {} : { namespace };
      const done = (async () => {
        for await (const event of store.watch(kind, { resourceVersion, signal: end.signal, ...where }))
          events.push(event);
      })();
      done.catch(() => undefined);
      const texts = (): string[] =>
        events.map((event) =>
          event.type === "bookmark" ? "bookmark" : `${event.type} ${event.object.metadata.name}`,
        );
      return { events, done, texts };
    };

    describe("objects", () => {
      it("gives a new object its uid, version, generation and time, and returns what it stored", async () => {
        const created = await store.create(pod("a", {}, { labels: { app: "x" } }));
        expect(created.metadata).toMatchObject({
          name: "a",
          namespace: "default",
          generation: 1,
          labels: { app: "x" },
        });
        expect(created.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
        expect(created.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
        expect(created.metadata.resourceVersion).toMatch(/^\d+$/);
        expect(await store.get(podRef("a"))).toEqual(created);
      });

      it("answers null for what doesn't exist", async () => {
        expect(await store.get(podRef("a"))).toBeNull();
      });

      it("refuses a second object of one name, but not in another namespace or of another kind", async () => {
        await store.create(
          object(KINDS.service, "a", {
            metadata: { name: "a", namespace: "default" },
            spec: { ports: [{ port: 80 }] },
          }),
        );
        await store.create(pod("a"));
        await expect(store.create(pod("a"))).rejects.toMatchObject({
          name: "StoreError",
          code: "already_exists",
        });
      });

      it("gives copies: changing what went in or came out changes nothing", async () => {
        const sent = node("n", { metadata: { name: "n", labels: { a: "1" } } });
        const created = await store.create(sent);
        sent.metadata.labels!["a"] = "2";
        created.metadata.labels!["a"] = "3";
        (await store.get(nodeRef("n")))!.metadata.labels!["a"] = "4";
        (await store.list(KINDS.node)).items[0]!.metadata.labels!["a"] = "5";
        expect((await store.get(nodeRef("n")))?.metadata.labels).toEqual({ a: "1" });
      });

      it.each([
        ["an upper-case name", node("Node")],
        ["a name that ends in a dash", node("node-")],
        ["a name of more than 253 characters", node("a".repeat(254))],
        ["an empty name", node("")],
        ["a namespace with a dot", pod("a", {}, { namespace: "a.b" })],
        [
          "a label value of more than 63 characters",
          node("n", { metadata: { name: "n", labels: { a: "x".repeat(64) } } }),
        ],
        ["a label key with two slashes", node("n", { metadata: { name: "n", labels: { "a/b/c": "x" } } })],
        [
          "an annotation name of more than 63 characters",
          node("n", { metadata: { name: "n", annotations: { [`isochrone.dev/${"x".repeat(64)}`]: "1" } } }),
        ],
      ])("refuses %s", async (_, invalid) => {
        await expect(store.create(invalid)).rejects.toMatchObject({ code: "invalid" });
      });

      it("takes an annotation name of exactly 63 characters after its prefix", async () => {
        const key = `isochrone.dev/${"x".repeat(63)}`;
        const created = await store.create(
          node("n", { metadata: { name: "n", annotations: { [key]: "1" } } }),
        );
        expect(created.metadata.annotations).toEqual({ [key]: "1" });
      });

      it("lists one kind by namespace and by equality of labels, with the version to watch from", async () => {
        await store.create(pod("b", {}, { labels: { app: "x", tier: "1" } }));
        await store.create(pod("a", {}, { labels: { app: "x" } }));
        await store.create(pod("c", {}, { labels: { app: "y" } }));
        await store.create(node("n", { metadata: { name: "n", labels: { app: "x" } } }));
        const names = async (options: Parameters<ClusterStore["list"]>[1]): Promise<string[]> =>
          (await store.list(KINDS.pod, options)).items.map(({ metadata }) => metadata.name);
        expect(await names({})).toEqual(["a", "b", "c"]);
        expect(await names({ labels: { app: "x" } })).toEqual(["a", "b"]);
        expect(await names({ labels: { app: "x", tier: "1" } })).toEqual(["b"]);
        expect(await names({ namespace: "default" })).toEqual(["a", "b", "c"]);
        expect(await names({ namespace: "other" })).toEqual([]);
      });
    });

    describe("changes", () => {
      it("replaces an object by update, keeping what the server set", async () => {
        const created = await store.create(node("n", { metadata: { name: "n", labels: { a: "1" } } }));
        const updated = await store.update(node("n", { metadata: { name: "n", labels: { b: "2" } } }));
        expect(updated.metadata.labels).toEqual({ b: "2" });
        expect(updated.metadata.uid).toBe(created.metadata.uid);
        expect(updated.metadata.creationTimestamp).toBe(created.metadata.creationTimestamp);
        expect(Number(updated.metadata.resourceVersion)).toBeGreaterThan(
          Number(created.metadata.resourceVersion),
        );
      });

      it("refuses an update of a version that is no longer the stored one", async () => {
        const created = await store.create(node("n"));
        await store.patch(nodeRef("n"), { metadata: { labels: { a: "1" } } });
        created.metadata.labels = { a: "2" };
        await expect(store.update(created)).rejects.toMatchObject({ code: "conflict" });
        expect((await store.get(nodeRef("n")))?.metadata.labels).toEqual({ a: "1" });
      });

      it("refuses to update, patch, bind or delete what is absent", async () => {
        for (const change of [
          store.update(node("n")),
          store.patch(nodeRef("n"), {}),
          store.bind({ namespace: "default", name: "a" }, "n"),
          store.delete(nodeRef("n")),
        ]) {
          await expect(change).rejects.toMatchObject({ code: "not_found" });
          await expect(change).rejects.toBeInstanceOf(StoreError);
        }
      });

      it("raises the generation when the spec changes, and only then", async () => {
        const kind = KINDS.deployment;
        const template = {
          metadata: { labels: { app: "d" } },
          spec: { containers: [{ name: "main", image: "pause" }] },
        };
        const metadata = { name: "d", namespace: "default" };
        await store.create({
          ...kind,
          metadata,
          spec: { replicas: 1, selector: { matchLabels: { app: "d" } }, template },
        });
        const ref = { ...kind, ...metadata };
        const patched = async (patch: Record<string, unknown>) =>
          (await store.patch(ref, patch)).metadata.generation;
        expect(await patched({ metadata: { labels: { a: "1" } } })).toBe(1);
        expect(await patched({ spec: { replicas: 2 } })).toBe(2);
        expect(await patched({ spec: { replicas: 2 } })).toBe(2);
      });

      it("merges a patch: null deletes, objects merge, lists are replaced", async () => {
        await store.create(
          node("n", {
            metadata: { name: "n", labels: { a: "1", b: "2" } },
            spec: { taints: [{ key: "x", effect: "NoSchedule" }] },
          }),
        );
        const taints = [{ key: "y", effect: "NoExecute" }];
        const patched = await store.patch(nodeRef("n"), {
          metadata: { labels: { a: null, c: "3" } },
          spec: { taints },
        });
        expect(patched.metadata.labels).toEqual({ b: "2", c: "3" });
        expect(patched.spec).toMatchObject({ taints });
      });

      it("compares the version that a patch brings", async () => {
        const { metadata } = await store.create(node("n"));
        await store.patch(nodeRef("n"), { metadata: { labels: { a: "1" } } });
        const stale = store.patch(nodeRef("n"), {
          metadata: { resourceVersion: metadata.resourceVersion, labels: { a: "2" } },
        });
        await expect(stale).rejects.toMatchObject({ code: "conflict" });
      });

      it("takes a write that changes nothing for none: same version, no event", async () => {
        const created = await store.create(node("n", { metadata: { name: "n", labels: { a: "1" } } }));
        const watch = follow(KINDS.node, created.metadata.resourceVersion!);
        const same = await store.patch(nodeRef("n"), { metadata: { labels: { a: "1" } } });
        expect(same.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
        await store.patch(nodeRef("n"), { metadata: { labels: { a: "2" } } });
        await waitFor(() => expect(watch.texts()).toEqual(["modified n"]));
      });

      it("refuses a change of a pod's node other than by bind", async () => {
        await store.create(pod("a"));
        await expect(store.patch(podRef("a"), { spec: { nodeName: "n" } })).rejects.toMatchObject({
          code: "invalid",
        });
      });
    });

    describe("binding", () => {
      it("sets the node once and says that the pod is scheduled", async () => {
        await store.create(pod("a"));
        await store.bind({ namespace: "default", name: "a" }, "n1");
        const bound = await store.get(podRef("a"));
        expect(bound?.spec?.["nodeName"]).toBe("n1");
        expect(bound?.status?.["conditions"]).toContainEqual(
          expect.objectContaining({ type: "PodScheduled", status: "True" }),
        );
        await expect(store.bind({ namespace: "default", name: "a" }, "n2")).rejects.toMatchObject({
          code: "conflict",
        });
        expect((await store.get(podRef("a")))?.spec?.["nodeName"]).toBe("n1");
      });

      it("refuses a pod whose gates are closed", async () => {
        await store.create(pod("a", { schedulingGates: [{ name: "isochrone.dev/plan" }] }));
        await expect(store.bind({ namespace: "default", name: "a" }, "n1")).rejects.toMatchObject({
          code: "conflict",
        });
      });
    });

    describe("deletion", () => {
      const running = async (name: string, spec: Record<string, unknown> = {}): Promise<void> => {
        await store.create(pod(name, spec));
        await store.bind({ namespace: "default", name }, "n1");
      };

      it("removes an object at once", async () => {
        await store.create(node("n"));
        await store.delete(nodeRef("n"));
        expect(await store.get(nodeRef("n"))).toBeNull();
        await expect(store.delete(nodeRef("n"))).rejects.toMatchObject({ code: "not_found" });
      });

      it("marks a pod on a node first, and removes it when the kubelet deletes it with 0", async () => {
        await running("a", { terminationGracePeriodSeconds: 20 });
        await store.delete(podRef("a"));
        const marked = await store.get(podRef("a"));
        expect(marked?.metadata.deletionGracePeriodSeconds).toBe(20);
        expect(marked?.metadata.deletionTimestamp).toMatch(/Z$/);
        await store.delete(podRef("a"), { gracePeriodSeconds: 0 });
        expect(await store.get(podRef("a"))).toBeNull();
      });

      it("lets a second deletion shorten the time that is left, never lengthen it", async () => {
        await running("a");
        const grace = async (gracePeriodSeconds: number) => {
          await store.delete(podRef("a"), { gracePeriodSeconds });
          return (await store.get(podRef("a")))?.metadata.deletionGracePeriodSeconds;
        };
        expect(await grace(20)).toBe(20);
        expect(await grace(60)).toBe(20);
        expect(await grace(5)).toBe(5);
      });

      it("removes a pod that has no node at once: nobody would stop it", async () => {
        await store.create(pod("a"));
        await store.delete(podRef("a"));
        expect(await store.get(podRef("a"))).toBeNull();
      });

      it("keeps an object until its finalizers are gone, and takes no new ones meanwhile", async () => {
        await store.create(node("n", { metadata: { name: "n", finalizers: ["isochrone.dev/a"] } }));
        await store.delete(nodeRef("n"));
        expect((await store.get(nodeRef("n")))?.metadata.deletionTimestamp).toBeDefined();
        const more = store.patch(nodeRef("n"), {
          metadata: { finalizers: ["isochrone.dev/a", "isochrone.dev/b"] },
        });
        await expect(more).rejects.toMatchObject({ code: "invalid" });
        await store.patch(nodeRef("n"), { metadata: { finalizers: null } });
        expect(await store.get(nodeRef("n"))).toBeNull();
      });

      it("gives a new object of the same name another uid", async () => {
        const first = await store.create(node("n"));
        await store.delete(nodeRef("n"));
        const second = await store.create(node("n"));
        expect(second.metadata.uid).not.toBe(first.metadata.uid);
      });
    });

    describe("watch", () => {
      it("reports every change after the version, in order, with the object of then", async () => {
        const { resourceVersion } = await store.list(KINDS.node);
        const watch = follow(KINDS.node, resourceVersion);
        await store.create(node("n"));
        await store.patch(nodeRef("n"), { metadata: { labels: { a: "1" } } });
        await store.delete(nodeRef("n"));
        await waitFor(() => expect(watch.texts()).toEqual(["added n", "modified n", "deleted n"]));
        const versions = watch.events.map((event) =>
          event.type === "bookmark" ? 0 : Number(event.object.metadata.resourceVersion),
        );
        expect(versions).toEqual(versions.toSorted((a, b) => a - b));
        expect(new Set(versions).size).toBe(3);
      });

      it("resumes from any version that was seen, without loss or repeat", async () => {
        const created = await store.create(node("a"));
        const seen = await store.create(node("b"));
        await store.create(node("c"));
        const [fromFirst, fromSecond] = [
          follow(KINDS.node, created.metadata.resourceVersion!),
          follow(KINDS.node, seen.metadata.resourceVersion!),
        ];
        await waitFor(() => expect(fromFirst.texts()).toEqual(["added b", "added c"]));
        await waitFor(() => expect(fromSecond.texts()).toEqual(["added c"]));
      });

      it("keeps to its kind and namespace", async () => {
        const { resourceVersion } = await store.list(KINDS.pod);
        const [here, elsewhere] = [
          follow(KINDS.pod, resourceVersion, "default"),
          follow(KINDS.pod, resourceVersion, "other"),
        ];
        await store.create(node("n"));
        await store.create(pod("a"));
        await waitFor(() => expect(here.texts()).toEqual(["added a"]));
        expect(elsewhere.texts()).toEqual([]);
      });

      it("serves several watchers, each with copies of its own", async () => {
        const { resourceVersion } = await store.list(KINDS.node);
        const watches = [follow(KINDS.node, resourceVersion), follow(KINDS.node, resourceVersion)] as const;
        await store.create(node("n"));
        for (const watch of watches) await waitFor(() => expect(watch.texts()).toEqual(["added n"]));
        const [one, other] = [watches[0].events[0], watches[1].events[0]];
        expect(one).toEqual(other);
        expect(one).not.toBe(other);
      });

      it("ends with its signal, without an error", async () => {
        const watch = follow(KINDS.node, (await store.list(KINDS.node)).resourceVersion);
        await store.create(node("n"));
        await waitFor(() => expect(watch.texts()).toEqual(["added n"]));
        end.abort();
        await watch.done;
      });

      it("refuses a version that is none", async () => {
        await expect(follow(KINDS.node, "yesterday").done).rejects.toMatchObject({ code: "invalid" });
      });

      it("says `expired` when the version is no longer kept", async (context) => {
        if (!under.overrun) context.skip();
        const { metadata } = await store.create(node("n"));
        await under.overrun?.();
        await expect(follow(KINDS.node, metadata.resourceVersion!).done).rejects.toMatchObject({
          code: "expired",
        });
      });

      it("sends a bookmark when only other kinds change, from which to resume", async (context) => {
        if (!under.pass) context.skip();
        const watch = follow(KINDS.node, (await store.list(KINDS.node)).resourceVersion);
        const { metadata } = await store.create(pod("a"));
        await under.pass?.(60_000);
        await waitFor(() =>
          expect(watch.events).toEqual([{ type: "bookmark", resourceVersion: metadata.resourceVersion }]),
        );
      });
    });

    it("deletes what was owned by a deleted object and by nobody else, down the chain", async () => {
      const owner = async (
        kind: KindRef,
        name: string,
        owners: KubernetesObject[] = [],
      ): Promise<KubernetesObject> =>
        await store.create({
          ...object(kind, name),
          metadata: {
            name,
            namespace: "default",
            ownerReferences: owners.map(({ apiVersion, kind, metadata }) => ({
              apiVersion,
              kind,
              name: metadata.name,
              uid: metadata.uid!,
            })),
          },
          spec: {
            selector: { matchLabels: { app: name } },
            template: {
              metadata: { labels: { app: name } },
              spec: { containers: [{ name: "main", image: "pause" }] },
            },
          },
        });
      const deployment = await owner(KINDS.deployment, "d");
      const other = await owner(KINDS.deployment, "other");
      const replicaSet = await owner(KINDS.replicaSet, "d-1", [deployment]);
      await owner(KINDS.replicaSet, "shared", [deployment, other]);
      await store.create(
        pod(
          "p",
          {},
          { ownerReferences: [{ ...KINDS.replicaSet, name: "d-1", uid: replicaSet.metadata.uid! }] },
        ),
      );
      await store.delete({ ...KINDS.deployment, namespace: "default", name: "d" });
      await vi.waitFor(async () => expect(await store.get(podRef("p"))).toBeNull(), {
        timeout: PATIENCE_MS,
        interval: 5,
      });
      expect((await store.list(KINDS.replicaSet)).items.map(({ metadata }) => metadata.name)).toEqual([
        "shared",
      ]);
    });
  });
}

function object(kind: KindRef, name: string, rest: Partial<KubernetesObject> = {}): KubernetesObject {
  return { ...kind, metadata: { name }, ...rest };
}

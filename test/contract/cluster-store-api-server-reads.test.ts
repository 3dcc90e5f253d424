import { KINDS, trimmedPod } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { WatchEvent } from "@isochrone/kubernetes/testing";
import { inClusterNamespace } from "@isochrone/kubernetes/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

import { controlPlaneSupport, startControlPlane } from "../harness/control-plane/index.ts";
import type { ControlPlane } from "../harness/control-plane/index.ts";
import { Testbed, Observed, soon } from "./cluster-store-api-server/testbed.ts";
import {
  EPHEMERAL_CONTAINER,
  namedByPods,
  podsOfEveryField,
  podsOfNewFields,
} from "./cluster-store-api-server/every-field.ts";
import { EVERY_STATUS } from "./cluster-store-api-server/every-status.ts";
import { largePod } from "./cluster-store-api-server/pods.ts";

const support = controlPlaneSupport([]);
if (!support.supported) console.warn(`reads of the API server skipped: ${support.reason}`);

const PODS = 2_000;
const ACCOUNT = { namespace: "isochrone", name: "reader" };

/** Two thousand deletions take seconds, and more on a busy machine. */
const PATIENCE = { timeout: 90_000 };

describe.runIf(support.supported)("reading from an API server", PATIENCE, () => {
  const testbed = new Testbed();
  let cluster: ControlPlane;
  let folder: string;

  beforeAll(async () => {
    cluster = await startControlPlane();
    folder = await mkdtemp(join(tmpdir(), "isochrone-account-"));
  }, 900_000);
  afterEach(() => testbed.clear());
  afterAll(async () => {
    await cluster?.close();
    await rm(folder, { recursive: true, force: true });
  });

  describe("as somebody", () => {
    const inPod = () => {
      const { hostname, port } = new URL(cluster.url);
      return { inCluster: { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port }, folder };
    };

    it("is refused with a wrong token, said without the token, and let in with the new one of a rotated file", async () => {
      const token = "not-a-token-of-this-cluster";
      await writeFile(join(folder, "ca.crt"), cluster.ca);
      await writeFile(join(folder, "token"), token);
      await writeFile(join(folder, "namespace"), `${ACCOUNT.namespace}\n`);
      const store = testbed.store(inPod());
      const refused: unknown = await store.list(KINDS.node).catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: "unauthorized", retryable: false });
      expect(String(refused)).toContain("list Node");
      expect(String(refused)).not.toContain(token);
      await cluster.grant({ serviceAccount: ACCOUNT }, [
        { apiGroups: [""], resources: ["nodes"], verbs: ["list"] },
      ]);
      const { token: real } = await cluster.serviceAccountToken(ACCOUNT);
      await writeFile(join(folder, "token"), real);
      expect(await store.list(KINDS.node)).toMatchObject({ items: [] });
      expect(await inClusterNamespace(folder)).toBe("isochrone");
    });

    it("is told what it may not do, in the API server's words", async () => {
      const store = testbed.store(inPod());
      const refused = store.list(KINDS.secret, { namespace: "kube-system" });
      await expect(refused).rejects.toMatchObject({ code: "forbidden", retryable: false });
      await expect(refused).rejects.toThrow(
        /list Secret.*system:serviceaccount:isochrone:reader.*cannot list/,
      );
      await expect(store.patch({ ...KINDS.node, name: "n" }, { metadata: {} })).rejects.toThrow(
        /patch Node n/,
      );
    });

    it("gets its token from the plugin that a kubeconfig names, once for many requests", async () => {
      const { token } = await cluster.serviceAccountToken(ACCOUNT);
      const [calls, plugin, kubeconfig] = ["calls", "plugin", "kubeconfig"].map((name) =>
        join(folder, name),
      ) as [string, string, string];
      const credential = {
        apiVersion: "client.authentication.k8s.io/v1",
        kind: "ExecCredential",
        status: { token },
      };
      await writeFile(
        plugin,
        `#!/bin/sh\necho x >> ${calls}\ncat <<'END'\n${JSON.stringify(credential)}\nEND\n`,
      );
      await chmod(plugin, 0o700);
      const exec = { apiVersion: credential.apiVersion, command: plugin, interactiveMode: "Never" };
      const config = {
        apiVersion: "v1",
        kind: "Config",
        "current-context": "c",
        clusters: [{ name: "k", cluster: { server: cluster.url, "certificate-authority": cluster.caFile } }],
        contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
        users: [{ name: "u", user: { exec } }],
      };
      await writeFile(kubeconfig, JSON.stringify(config));
      const store = testbed.store({ kubeconfig });
      await Promise.all(Array.from({ length: 5 }, () => store.list(KINDS.node)));
      await store.list(KINDS.node);
      expect(await readFile(calls, "utf8")).toBe("x\n");
    });

    it("is told when the kubeconfig isn't there, or its authority isn't the server's", async () => {
      const absent = testbed.store({ kubeconfig: join(folder, "no-such-file") });
      await expect(absent.list(KINDS.node)).rejects.toMatchObject({ code: "unavailable" });
      await expect(absent.list(KINDS.node)).rejects.toThrow("no-such-file");
      await writeFile(join(folder, "ca.crt"), "");
      const distrusting = testbed.store(inPod());
      await expect(distrusting.list(KINDS.node)).rejects.toMatchObject({ code: "unavailable" });
    });
  });

  describe("kinds", () => {
    it("are found by discovery as soon as their definition is there", async () => {
      const store = testbed.store({ kubeconfig: cluster.kubeconfig });
      const kind = { apiVersion: "example.com/v1", kind: "Mouse" };
      await expect(store.list(kind)).rejects.toMatchObject({ code: "not_found" });
      await cluster.create({
        ...KINDS.customResourceDefinition,
        metadata: { name: "mice.example.com" },
        spec: {
          group: "example.com",
          scope: "Cluster",
          names: { plural: "mice", singular: "mouse", kind: "Mouse", listKind: "MouseList" },
          versions: [
            {
              name: "v1",
              served: true,
              storage: true,
              schema: {
                openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
              },
            },
          ],
        },
      });
      const created = await store.create({ ...kind, metadata: { name: "jerry" }, spec: { size: 1 } });
      expect(created.metadata.generation).toBe(1);
      expect((await store.list(kind)).items).toMatchObject([{ ...kind, spec: { size: 1 } }]);
      const patched = await store.patch({ ...kind, name: "jerry" }, { status: { seen: true } });
      expect(patched).toMatchObject({ metadata: { generation: 2 }, status: { seen: true } });
    });

    it("that are never replaced unseen are replaced all the same when no version is given", async () => {
      const store = testbed.store({ kubeconfig: cluster.kubeconfig });
      const metadata = { name: "l", namespace: "default" };
      await store.create({ ...KINDS.lease, metadata, spec: { holderIdentity: "a" } });
      const updated = await store.update({ ...KINDS.lease, metadata, spec: { holderIdentity: "b" } });
      expect(updated.spec).toMatchObject({ holderIdentity: "b" });
    });
  });

  describe("pods in binary form", () => {
    const namespace = "every-field";
    const path = `/api/v1/namespaces/${namespace}/pods`;
    /** The server's JSON as a store returns it. */
    const asShown = (pod: KubernetesObject): KubernetesObject => {
      const { managedFields: _, ...metadata }: KubernetesObject["metadata"] & { managedFields?: unknown } =
        pod.metadata;
      return { ...pod, apiVersion: "v1", kind: "Pod", metadata };
    };

    beforeAll(async () => {
      await cluster.createNamespace(namespace);
      await cluster.create([
        ...namedByPods(namespace),
        ...podsOfEveryField(namespace),
        ...podsOfNewFields(namespace),
      ]);
      const containers = { spec: { ephemeralContainers: [EPHEMERAL_CONTAINER] } };
      await cluster.request("PATCH", `${path}/full/ephemeralcontainers`, containers);
      await cluster.request("PATCH", `${path}/full/status`, { status: EVERY_STATUS });
    });

    it("are the objects that the server's JSON says, whatever fields they have", async () => {
      const form = "application/vnd.kubernetes.protobuf";
      const headers = { accept: `${form}, application/json` };
      const client = await cluster.clientOf({ serviceAccount: ACCOUNT });
      const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["list"] }];
      await cluster.grant({ serviceAccount: ACCOUNT }, rules);
      const answer = await client.answer("GET", path, undefined, { headers });
      expect(answer.headers["content-type"]).toBe(form);
      const { logger } = testbed;
      const store = testbed.store({ kubeconfig: cluster.kubeconfig }, { pageSize: 3 });
      const { items } = await store.list(KINDS.pod, { namespace });
      expect(items).toStrictEqual((await cluster.list("pods", { namespace })).map(asShown));
      expect(items.find(({ metadata }) => metadata.name === "full")).toMatchObject({
        spec: { ephemeralContainers: [EPHEMERAL_CONTAINER] },
        status: {
          startTime: EVERY_STATUS.startTime,
          resourceClaimStatuses: EVERY_STATUS.resourceClaimStatuses,
        },
      });
      // All fields are known, up to the newest server version of the tests.
      expect(logger.events("warn")).toEqual([]);
    });

    it("are the same when they are watched, trimmed or not", async () => {
      const store = testbed.store({ kubeconfig: cluster.kubeconfig });
      const { resourceVersion } = await store.list(KINDS.pod, { namespace, metadataOnly: true });
      const names = podsOfEveryField(namespace).map(({ metadata }) => metadata.name);
      const patched: KubernetesObject[] = [];
      for (const name of names)
        patched.push(
          await cluster.request("PATCH", `${path}/${name}`, { metadata: { labels: { seen: "yes" } } }),
        );
      for (const trim of [undefined, trimmedPod]) {
        const end = new AbortController();
        const options = { resourceVersion, namespace, signal: end.signal, ...(trim ? { trim } : {}) };
        const changes: WatchEvent[] = [];
        for await (const change of store.watch(KINDS.pod, options))
          if (change.type !== "bookmark" && changes.push(change) === names.length) break;
        end.abort();
        const kept = trim ?? ((pod: KubernetesObject) => pod);
        expect(changes).toEqual(patched.map((pod) => ({ type: "modified", object: kept(asShown(pod)) })));
      }
    });
  });

  describe(`${PODS.toLocaleString("en-US")} pods of 8 KB`, () => {
    const namespace = "crowd";
    const trim = ({ apiVersion, kind, metadata }: KubernetesObject): KubernetesObject => ({
      apiVersion,
      kind,
      metadata: {
        name: metadata.name,
        namespace,
        uid: metadata.uid!,
        resourceVersion: metadata.resourceVersion!,
      },
    });
    let crowd: KubernetesObject[];

    beforeAll(async () => {
      await cluster.createNamespace(namespace);
      const store = testbed.store({ kubeconfig: cluster.kubeconfig });
      const names = Array.from({ length: PODS }, (_, i) => `web-${String(i).padStart(4, "0")}`);
      const work = names.values();
      const worker = async (): Promise<void> => {
        for (const name of work) await store.create(largePod(name, namespace));
      };
      await Promise.all(Array.from({ length: 8 }, worker));
      crowd = await cluster.list("pods", { namespace });
      store.close();
    }, 120_000);

    it("come in pages, each trimmed before the next is asked for, and weigh what is kept of them", async () => {
      const bytes = JSON.stringify(crowd[0]).length;
      expect(bytes).toBeGreaterThan(7_000);
      const observed = new Observed();
      const store = testbed.store({ kubeconfig: cluster.kubeconfig }, { observer: observed, pageSize: 50 });
      let [trimmed, mostAhead] = [0, 0];
      const beforeBytes = heapBytes();
      const { items } = await store.list(KINDS.pod, {
        namespace,
        trim: (pod) => {
          trimmed += 1;
          mostAhead = Math.max(mostAhead, observed.count("list") * 50 - trimmed);
          return trim(pod);
        },
      });
      const keptBytes = heapBytes() - beforeBytes;
      expect(items).toHaveLength(PODS);
      expect(observed.count("list", 200)).toBe(PODS / 50);
      expect(mostAhead).toBeLessThan(50);
      expect(keptBytes).toBeLessThan(0.25 * PODS * bytes);
      expect(items.map(({ metadata }) => metadata.name)).toEqual(crowd.map(({ metadata }) => metadata.name));
    });

    it("are without managedFields when nobody trims them, and without spec when only metadata is wanted", async () => {
      const store = testbed.store({ kubeconfig: cluster.kubeconfig });
      const full = (await store.list(KINDS.pod, { namespace })).items;
      expect(JSON.stringify(full)).not.toContain("managedFields");
      expect(full[0]?.spec).toHaveProperty("containers");
      const bare = (await store.list(KINDS.pod, { namespace, metadataOnly: true })).items;
      expect(bare.map((pod) => Object.keys(pod).toSorted().join(" "))).toEqual(
        full.map(() => "apiVersion kind metadata"),
      );
    });

    it("reach a watcher that is too slow for the server all the same, each change once and in order", async () => {
      const observed = new Observed();
      const store = testbed.store({ kubeconfig: cluster.kubeconfig }, { observer: observed });
      const { resourceVersion } = await store.list(KINDS.pod, { namespace, metadataOnly: true });
      const end = new AbortController();
      const watch = store.watch(KINDS.pod, { resourceVersion, namespace, signal: end.signal, trim });
      const changes = watch[Symbol.asyncIterator]();
      const first = changes.next();
      await soon(() => expect(observed.count("watch", 200)).toBe(1));
      // More events than TCP buffers hold while nobody reads, so the server drops the watch.
      await cluster.request("DELETE", `/api/v1/namespaces/${namespace}/pods?gracePeriodSeconds=0`);
      const deleted: string[] = [];
      const versions: number[] = [];
      for (let result = await first; ; result = await changes.next()) {
        const change: WatchEvent = result.value;
        if (change.type === "deleted") {
          deleted.push(change.object.metadata.name);
          versions.push(Number(change.object.metadata.resourceVersion));
        }
        if (deleted.length === PODS) break;
      }
      end.abort();
      expect(deleted.toSorted()).toEqual(crowd.map(({ metadata }) => metadata.name));
      expect(versions).toEqual(versions.toSorted((a, b) => a - b));
      expect(observed.renewals).toContain("Pod ended");
    });
  });
});

/** After a full collection. */
function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "@isochrone/runtime";
import { afterEach, describe, expect, test } from "vitest";
import { Connections } from "../adapters/api-server/connections.ts";
import { createMemoryStore } from "../adapters/memory/memory.ts";
import { KINDS } from "../kinds.ts";
import type { ClusterStore } from "../store/port.ts";
import { currentFence, fencedStore } from "./write-fence.ts";

const ref = { ...KINDS.configMap, namespace: "default", name: "acts" };
const configMap = { ...KINDS.configMap, metadata: { namespace: "default", name: "acts" } };

const writes: readonly [string, (store: ClusterStore) => Promise<unknown>][] = [
  ["create", (store) => store.create(configMap)],
  ["update", (store) => store.update(configMap)],
  ["patch", (store) => store.patch(ref, { data: { a: "1" } })],
  ["jsonPatch", (store) => store.jsonPatch(ref, [{ op: "add", path: "/data", value: {} }])],
  ["apply", (store) => store.apply(configMap, { fieldManager: "test" })],
  ["delete", (store) => store.delete(ref)],
  [
    "scale",
    (store) => store.scale({ ...KINDS.deployment, namespace: "default", name: "web" }, { from: 1, to: 2 }),
  ],
  ["evict", (store) => store.evict({ namespace: "default", name: "pod" })],
  ["bind", (store) => store.bind({ namespace: "default", name: "pod" }, "node")],
];

const OPEN = { mayWrite: () => true, reason: "open" };

describe("a fenced store", () => {
  test.each(writes)("refuses to %s while its fence is closed, and says why", async (_, write) => {
    const store = fencedStore(createMemoryStore({ clock: systemClock }), {
      mayWrite: () => false,
      reason: "no longer the leader",
    });
    await expect(write(store)).rejects.toMatchObject({
      code: "fenced",
      retryable: false,
      message: "not written: no longer the leader",
    });
    expect(await store.get(ref)).toBeNull();
    expect((await store.list(KINDS.configMap)).items).toEqual([]);
  });

  test("tells who watches the store of informers over it, too", () => {
    const informerObserver = { heard: () => undefined };
    const store = { ...fencedStore(createMemoryStore({ clock: systemClock }), OPEN), informerObserver };
    expect(fencedStore(store, OPEN).informerObserver).toBe(informerObserver);
  });

  test("writes while its fence is open", async () => {
    const store = fencedStore(createMemoryStore({ clock: systemClock }), {
      mayWrite: () => true,
      reason: "",
    });
    await store.create(configMap);
    await store.patch(ref, { data: { a: "1" } });
    expect(await store.get(ref)).toMatchObject({ data: { a: "1" } });
  });

  test("asks every fence of a write that has several, and none of a write that has none", async () => {
    const asked: string[] = [];
    const inner = {
      ...fencedStore(createMemoryStore({ clock: systemClock }), { mayWrite: () => true, reason: "" }),
      create: (async (object) => {
        currentFence()?.();
        return object;
      }) as ClusterStore["create"],
    };
    const fence = (name: string) => ({ mayWrite: () => asked.push(name) > 0, reason: name });
    await fencedStore(fencedStore(inner, fence("inner")), fence("outer")).create(configMap);
    expect(asked).toEqual(["outer", "inner", "outer", "inner"]);
    expect(currentFence()).toBeNull();
  });
});

describe("a write over HTTP behind a fence", () => {
  const servers: Server[] = [];
  const connections: Connections[] = [];
  afterEach(() => {
    for (const each of connections.splice(0)) each.close();
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });

  async function overHttp() {
    const bodies: string[] = [];
    const server = createServer((request, response) => {
      request.on("data", (chunk: Buffer) => bodies.push(chunk.toString()));
      request.on("end", () => response.end("{}"));
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const wire = new Connections(1);
    connections.push(wire);
    const login = { server: new URL(`http://127.0.0.1:${port}`), headers: {}, tls: {} };
    const send = async (): Promise<never> => {
      const signal = AbortSignal.timeout(5_000);
      const answer = await wire.send(login, {
        method: "PATCH",
        path: "/",
        headers: {},
        body: "x",
        signal,
      });
      await answer.toArray();
      return {} as never;
    };
    const memory = createMemoryStore({ clock: systemClock });
    return { bodies, store: { ...memory, patch: send } as unknown as ClusterStore };
  }

  test("goes over a new connection and over a kept one while the fence is open", async () => {
    const { bodies, store } = await overHttp();
    const fenced = fencedStore(store, { mayWrite: () => true, reason: "" });
    await fenced.patch(ref, {});
    await fenced.patch(ref, {});
    expect(bodies).toEqual(["x", "x"]);
  });

  test("is not sent when the fence closes while it waits for its connection", async () => {
    const { bodies, store } = await overHttp();
    let isOpen = true;
    const write = fencedStore(store, { mayWrite: () => isOpen, reason: "stopped" }).patch(ref, {});
    // In the same turn, before the connection exists.
    isOpen = false;
    await expect(write).rejects.toMatchObject({ code: "fenced" });
    await sleep(50);
    expect(bodies).toEqual([]);
  });
});

// Faults around a whole aggregator: reconnecting clients, an absent scheduler-plugin, missing kinds.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { KINDS, type ClusterStore } from "@isochrone/kubernetes";
import type { ClusterGraphSnapshot, GraphEvent } from "@isochrone/topology";
import { afterEach, describe, expect, test } from "vitest";
import { startAggregator, type RunningAggregator } from "./testing/aggregator.ts";
import { fill, nodeObject, podObject } from "./testing/cluster.ts";

const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function started(...options: Parameters<typeof startAggregator>): Promise<RunningAggregator> {
  const running = await startAggregator(...options);
  cleanups.push(() => running.stop());
  return running;
}

const urlOf = ({ aggregator }: RunningAggregator, path: string): string => aggregator.address().url + path;

interface Received {
  readonly event: string;
  readonly id: string;
  readonly data: GraphEvent;
}

async function readEvents(
  running: RunningAggregator,
  count: number,
  lastEventId?: string,
): Promise<Received[]> {
  const leaving = new AbortController();
  const response = await fetch(urlOf(running, "/api/v1/events"), {
    headers: lastEventId === undefined ? {} : { "last-event-id": lastEventId },
    signal: leaving.signal,
  });
  let text = "";
  const events: Received[] = [];
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const blocks = (text + chunk).split("\n\n");
    text = blocks.pop()!;
    for (const block of blocks) {
      const found = /^event: (.*)\nid: (.*)\ndata: (.*)$/m.exec(block);
      if (found !== null)
        events.push({ event: found[1]!, id: found[2]!, data: JSON.parse(found[3]!) as GraphEvent });
    }
    if (events.length >= count) break;
  }
  leaving.abort();
  return events;
}

describe("a client of the event stream that comes back", () => {
  test("gets exactly the versions that it missed, with what changed in each", async () => {
    const running = await started();
    const [first] = await readEvents(running, 1);
    await fill(running.store, [nodeObject("a", "z1")]);
    await running.clock.advance(1000);
    await fill(running.store, [nodeObject("b", "z1")]);
    await running.clock.advance(1000);
    const { version } = (await (
      await fetch(urlOf(running, "/api/v1/graph/cluster"))
    ).json()) as ClusterGraphSnapshot;

    const missed = await readEvents(running, version - first!.data.version, first!.id);

    expect(missed.map(({ event }) => event)).toEqual(missed.map(() => "graph"));
    expect(missed.map(({ data }) => data.version)).toEqual(
      Array.from(missed, (_, index) => first!.data.version + 1 + index),
    );
    expect(missed.at(-1)!.data.version).toBe(version);
    expect(missed.map(({ data }) => data.changed.nodes)).toEqual([["a"], ["b"]]);
  });

  test("is sent to the snapshot when it missed more than is kept", async () => {
    const running = await started({ settings: { eventHistory: 2 } });
    const [first] = await readEvents(running, 1);
    await running.clock.advance(1000);
    await running.clock.advance(1000);
    await running.clock.advance(1000);
    const [answer] = await readEvents(running, 1, first!.id);
    expect(answer).toMatchObject({ event: "reset", data: { snapshot: "/api/v1/graph/cluster" } });
  });

  test("is sent to the snapshot when it last saw another life of the aggregator", async () => {
    const running = await started();
    const [answer] = await readEvents(running, 1, "another-life-1");
    expect(answer).toMatchObject({ event: "reset" });
  });
});

describe("decisions of the scheduler-plugin", () => {
  async function plugin(): Promise<{ readonly server: Server; readonly url: string }> {
    const server = createServer((request, response) =>
      response
        .writeHead(request.url?.includes("limit=bad") === true ? 400 : 200, {
          "content-type": "application/json",
        })
        .end(JSON.stringify({ asked: request.url })),
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const close = async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    cleanups.push(close);
    return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  }

  test("are passed through with query and status, not to be cached", async () => {
    const { url } = await plugin();
    const running = await started({ settings: { decisionsUrl: url } });
    for (const [path, status] of [
      ["/api/v1/decisions?limit=3&pod=web-1", 200],
      ["/api/v1/decisions?limit=bad", 400],
      ["/api/v1/plans", 200],
      ["/api/v1/savings?limit=3", 200],
    ] as const) {
      const answer = await fetch(urlOf(running, path));
      expect(answer.status).toBe(status);
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(await answer.json()).toEqual({ asked: path });
    }
  });

  test("are a 502 problem while the scheduler-plugin is away, and are there again when it is", async () => {
    const { server, url } = await plugin();
    const running = await started({ settings: { decisionsUrl: url } });
    const { port } = server.address() as AddressInfo;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    const away = await fetch(urlOf(running, "/api/v1/decisions"));
    expect(away.status).toBe(502);
    expect(away.headers.get("content-type")).toContain("application/problem+json");
    expect(await away.json()).toMatchObject({
      status: 502,
      code: "decisions_unreachable",
      detail: expect.stringContaining("scheduler-plugin"),
    });
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    expect((await fetch(urlOf(running, "/api/v1/decisions"))).status).toBe(200);
  });

  test("are a 503 problem where none is configured, and the graphs are served all the same", async () => {
    const running = await started();
    const answer = await fetch(urlOf(running, "/api/v1/plans"));
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ code: "decisions_off" });
    expect((await fetch(urlOf(running, "/api/v1/graph/cluster"))).status).toBe(200);
  });
});

/** Simulates an API server without the CRD or the right to list these kinds. */
function refusing(kinds: readonly string[]): (store: ClusterStore) => ClusterStore {
  return (store) => ({
    get: (ref) => store.get(ref),
    list: (kind, options) =>
      kinds.includes(kind.kind)
        ? Promise.reject(new Error(`${kind.kind}: the server could not find the requested resource`))
        : store.list(kind, options),
    create: (object) => store.create(object),
    update: (object, options) => store.update(object, options),
    patch: (ref, patch, options) => store.patch(ref, patch, options),
    jsonPatch: (ref, operations, options) => store.jsonPatch(ref, operations, options),
    apply: (object, options) => store.apply(object, options),
    evict: (pod, options) => store.evict(pod, options),
    delete: (ref, options) => store.delete(ref, options),
    scale: (ref, replicas, options) => store.scale(ref, replicas, options),
    bind: (pod, nodeName) => store.bind(pod, nodeName),
    watch: (kind, options) => store.watch(kind, options),
  });
}

describe("a cluster that lacks kinds", () => {
  test("is drawn without AppGroups, StatefulSets and DaemonSets", async () => {
    const lacking = ["AppGroup", "StatefulSet", "DaemonSet"];
    const running = await started({ around: refusing(lacking) });
    await fill(running.store, [
      nodeObject("a", "z1"),
      podObject("shop", "web-1", "a", { labels: { "isochrone.dev/workflow": "checkout" } }),
    ]);
    await running.clock.advance(1000);
    expect((await fetch(urlOf(running, "/readyz"))).status).toBe(200);
    const graph = (await (
      await fetch(urlOf(running, "/api/v1/graph/cluster"))
    ).json()) as ClusterGraphSnapshot;
    expect(graph.nodes.map(({ name }) => name)).toEqual(["a"]);
    expect((await fetch(urlOf(running, "/api/v1/graph/workflows/shop/checkout"))).status).toBe(200);
  });

  test("isn't drawn at all without its nodes, and says what it waits for", async () => {
    const running = await started({ around: refusing([KINDS.node.kind]) });
    await running.clock.advance(1000);
    const ready = await fetch(urlOf(running, "/readyz"));
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({
      reasons: expect.arrayContaining(["waiting for the list of Node objects"]),
    });
    expect((await fetch(urlOf(running, "/api/v1/graph/cluster"))).status).toBe(503);
  });
});

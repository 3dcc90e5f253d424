import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { GraphClient, GraphClientError } from "./client.ts";
import type { GraphClientOptions } from "./client.ts";
import { SnapshotError } from "./errors.ts";
import { channel, clusterSnapshot, link, node, workflowSnapshot } from "./testing/builders.ts";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function clientOf(
  handler: Handler,
  options: Partial<GraphClientOptions> = {},
): Promise<{ client: GraphClient; seen: IncomingMessage[]; baseUrl: string }> {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { client: new GraphClient({ baseUrl: `${baseUrl}/`, timeoutMs: 5_000, ...options }), seen, baseUrl };
}

const json = (response: ServerResponse, body: unknown, status = 200): void => {
  response.writeHead(status, { "content-type": "application/json", etag: '"7"' }).end(JSON.stringify(body));
};
const nodes = [node("a"), node("b")];

async function failureOf(promise: Promise<unknown>): Promise<GraphClientError> {
  const error = await promise.catch((caught: unknown) => caught);
  if (!(error instanceof GraphClientError)) throw new Error("expected a GraphClientError", { cause: error });
  return error;
}

describe("the cluster graph over HTTP", () => {
  test("is validated and typed", async () => {
    const { client } = await clientOf((_, response) =>
      json(response, clusterSnapshot(nodes, [link("a", "b", 3)])),
    );
    const { value, changed } = await client.cluster();
    expect(changed).toBe(true);
    expect(value.links[0]).toMatchObject({ source: "a", costMs: 3 });
  });

  test("isn't sent again while it is the same: the ETag comes back, and the object is the very same", async () => {
    const { client, seen } = await clientOf((request, response) => {
      if (request.headers["if-none-match"] === '"7"') response.writeHead(304).end();
      else json(response, clusterSnapshot(nodes, []));
    });
    const first = await client.cluster();
    const second = await client.cluster();
    expect(second).toEqual({ value: first.value, changed: false, dropped: { counts: {}, first: null } });
    expect(second.value).toBe(first.value);
    expect(seen.map(({ headers }) => headers["if-none-match"])).toEqual([undefined, '"7"']);
  });

  test("is joined from its pages", async () => {
    const pages: Record<string, object> = {
      "/api/v1/graph/cluster": { ...clusterSnapshot(nodes, [link("a", "b", 1)]), nextCursor: "p 2" },
      "/api/v1/graph/cluster?cursor=p%202": {
        ...clusterSnapshot(nodes, [link("b", "a", 2)]),
        nextCursor: null,
      },
    };
    const { client } = await clientOf((request, response) => json(response, pages[request.url ?? ""]));
    expect((await client.cluster()).value.links.map(({ costMs }) => costMs)).toEqual([1, 2]);
  });

  test("is read again when it was published anew between two pages", async () => {
    let requests = 0;
    const { client } = await clientOf((request, response) => {
      requests++;
      const version = requests < 3 ? requests : 9;
      const last = request.url?.includes("cursor") === true;
      json(response, {
        ...clusterSnapshot(nodes, [link("a", "b", 1)]),
        version,
        nextCursor: last ? null : "2",
      });
    });
    const { value } = await client.cluster();
    expect([value.version, value.links.length, requests]).toEqual([9, 2, 4]);
  });

  test("is given up when that never ends", async () => {
    let version = 0;
    const { client } = await clientOf((_, response) => {
      json(response, { ...clusterSnapshot(nodes, []), version: ++version, nextCursor: "2" });
    });
    expect(await failureOf(client.cluster())).toMatchObject({ code: "unsettled", retryable: true });
  });

  test("that never ends in pages is refused", async () => {
    const endless = { ...clusterSnapshot(nodes, []), nextCursor: "again" };
    const { client } = await clientOf((_, response) => json(response, endless), { maxPages: 3 });
    expect(await failureOf(client.cluster())).toMatchObject({ code: "too_large", retryable: false });
  });

  test("of the wrong shape is refused with path, rule and value", async () => {
    const { client } = await clientOf((_, response) =>
      json(response, { ...clusterSnapshot([], []), version: "new" }),
    );
    await expect(client.cluster()).rejects.toThrow(SnapshotError);
    await expect(client.cluster()).rejects.toThrow(/version must be integer, got "new"/);
  });

  test("is read without the one bad link on each of its pages, also when it comes from the cache", async () => {
    const bad = link("b", "a", 1, { lossRatio: -0.2 });
    const { client } = await clientOf((request, response) => {
      if (request.headers["if-none-match"] !== undefined) response.writeHead(304).end();
      else if (request.url!.includes("cursor")) json(response, clusterSnapshot(nodes, [bad]));
      else {
        const first = clusterSnapshot(nodes, [bad, link("a", "b", 3)]);
        json(response, { ...first, nextCursor: "2" });
      }
    });
    const dropped = {
      counts: { link: 2 },
      first: "cluster graph links[0].lossRatio must be from 0 to 1, or null, got -0.2",
    };
    for (const changed of [true, false]) {
      const graph = await client.cluster();
      expect(graph).toMatchObject({ changed, dropped });
      expect(graph.value.links.map(({ source }) => source)).toEqual(["a"]);
    }
  });
});

describe("changed workflows over HTTP", () => {
  const listOf = (names: readonly string[], graphs: readonly string[], fields: object): object => ({
    version: 3,
    observedAt: "2026-01-01T00:00:00.000Z",
    id: "epoch-3",
    workflows: names.map((name) => ({ namespace: "shop", name, workloads: 1, channels: 0, pods: 0 })),
    graphs: graphs.map((name) => ({ ...workflowSnapshot([], []), namespace: "shop", name })),
    ...fields,
  });

  test("are joined from their pages, asked for since the same answer", async () => {
    const { client, seen } = await clientOf((request, response) =>
      json(
        response,
        request.url!.includes("cursor=p+2")
          ? listOf(["a", "b", "c"], ["c"], { version: 4, id: "epoch-4", nextCursor: null })
          : listOf(["a", "b", "c"], ["a"], { nextCursor: "p 2" }),
      ),
    );
    const changes = await client.workflowChanges("epoch-1");
    expect(changes.graphs.map(({ name }) => name)).toEqual(["a", "c"]);
    expect(changes.workflows).toHaveLength(3);
    expect([changes.id, changes.version]).toEqual(["epoch-3", 3]);
    expect(seen.map(({ url }) => new URL(url!, "http://a").searchParams.get("since"))).toEqual([
      "epoch-1",
      "epoch-1",
    ]);
  });

  test("are read without a bad channel, and without what is no graph", async () => {
    const odd = { ...workflowSnapshot([], [channel("a", "b", -1), channel("b", "c", 1)]) };
    const { client } = await clientOf((_, response) =>
      json(response, listOf([], [], { graphs: [odd, { name: "none" }] })),
    );
    const { graphs, dropped } = await client.workflowChanges(null);
    expect(graphs.map(({ channels }) => channels.map(({ source }) => source))).toEqual([["b"]]);
    expect(dropped.counts).toEqual({ channel: 1, workflow: 1 });
  });

  test("of an answer without graphs or without an end are refused", async () => {
    const refusalOf = async (body: object): Promise<unknown> => {
      const { client } = await clientOf((_, response) => json(response, body), { maxPages: 3 });
      return client.workflowChanges(null).catch((error: unknown) => error);
    };
    expect(await refusalOf(listOf([], [], { graphs: undefined }))).toMatchObject({ code: "malformed" });
    expect(await refusalOf(listOf([], [], { nextCursor: "again" }))).toMatchObject({ code: "too_large" });
  });
});

test("the other documents have their addresses, with names escaped", async () => {
  const answers: Record<string, unknown> = {
    "/api/v1/graph/workflows": { version: 1, observedAt: "x", workflows: [] },
    "/api/v1/graph/workflows/shop/a%2Fb": workflowSnapshot([], []),
    "/api/v1/decisions": { decisions: [] },
    "/api/v1/decisions?namespace=shop&pod=p-1&limit=5": { decisions: [] },
    "/api/v1/probe-plan/a%20b": {
      version: "v",
      node: "a b",
      identity: "127.0.0.1",
      zone: null,
      region: null,
      signingKeyId: null,
      peers: [],
    },
  };
  const { client } = await clientOf((request, response) => json(response, answers[request.url ?? ""]));
  expect((await client.workflows()).value.workflows).toEqual([]);
  expect((await client.workflow("shop", "a/b")).value.name).toBe("flow");
  expect((await client.decisions()).value.decisions).toEqual([]);
  expect((await client.decisions({ namespace: "shop", pod: "p-1", limit: 5 })).value.decisions).toEqual([]);
  expect((await client.probePlan("a b")).value.node).toBe("a b");
});

test("how an aggregator is, is validated", async () => {
  const health = {
    observedAt: "2026-01-01T00:00:00.000Z",
    ready: true,
    reasons: [],
    version: 1,
    graphAgeSeconds: 0.5,
    buildFailures: 0,
    intake: {
      records: 1,
      points: 1,
      missing: 0,
      publisherDropped: 0,
      tooLate: 0,
      duplicates: 0,
      deadLetters: 0,
      refused: { malformed: 2 },
      unused: {},
    },
    sizes: { series: 1, links: 1, channels: 0, pods: 0, eventClients: 0 },
    probing: { plannedPairs: null, uncoveredZones: null },
    sampleAgeSeconds: null,
    replicas: { replica: null, live: null, isLeader: null, lag: [] },
    clocks: [{ source: "probe/a", skewSeconds: 0.1 }],
  };
  let body: object = health;
  const { client } = await clientOf((_, response) => json(response, body));
  expect((await client.health()).value).toEqual(health);
  body = { ...health, clocks: [{ source: "probe/a" }] };
  await expect(client.health()).rejects.toThrow("skewSeconds");
});

test("a node's flow plan is checked, and isn't sent again while it is the same", async () => {
  let body: unknown = { version: "1", node: "a", epoch: "x", generation: 0, neighbours: [], flows: [] };
  const { client, seen } = await clientOf((request, response) => {
    if (request.headers["if-none-match"] === '"7"') response.writeHead(304).end();
    else json(response, body);
  });
  const first = await client.flowPlan("a");
  expect(seen[0]?.url).toBe("/api/v1/flow-plan/a");
  expect(first).toMatchObject({ changed: true, value: body });
  expect(await client.flowPlan("a")).toEqual({ ...first, changed: false });
  body = { flows: [] };
  await expect(client.flowPlan("b")).rejects.toThrow("flow plan");
});

describe("what can go wrong", () => {
  test("a problem's status and words are passed on, with whether it may pass", async () => {
    let status = 404;
    const { client } = await clientOf((_, response) =>
      json(response, { title: "x", detail: "no such workflow" }, status),
    );
    const missing = await failureOf(client.workflow("a", "b"));
    expect(missing).toMatchObject({ code: "http_status", status: 404, retryable: false });
    expect(missing.message).toMatch(/workflows\/a\/b: answered 404 \(no such workflow\)/);
    status = 503;
    expect(await failureOf(client.workflow("a", "b"))).toMatchObject({ status: 503, retryable: true });
  });

  test("a server that says when to come back is quoted", async () => {
    let retryAfter = "7";
    const { client } = await clientOf((_, response) => {
      response.setHeader("retry-after", retryAfter);
      json(response, { title: "x" }, 503);
    });
    expect(await failureOf(client.flowPlan("a"))).toMatchObject({ status: 503, retryAfterMs: 7_000 });
    retryAfter = "999999";
    expect((await failureOf(client.flowPlan("a"))).retryAfterMs).toBe(600_000);
    retryAfter = "Wed, 21 Oct 2026 07:28:00 GMT";
    expect((await failureOf(client.flowPlan("a"))).retryAfterMs).toBeNull();
  });

  test("an answer beyond the limit is cut off, though it claims no length", async () => {
    const { client } = await clientOf(
      (_, response) => {
        const timer = setInterval(() => response.write("x".repeat(10_000)), 1);
        response.on("close", () => clearInterval(timer));
      },
      { maxBodyBytes: 50_000 },
    );
    expect((await failureOf(client.cluster())).message).toContain("larger than 50000 bytes");
  });

  test("an answer that never comes ends at the limit of time", async () => {
    const { client } = await clientOf(() => undefined, { timeoutMs: 50 });
    expect(await failureOf(client.cluster())).toMatchObject({ code: "timeout", retryable: true });
  });

  test("an answer that stops midway ends at the limit of time", async () => {
    const { client } = await clientOf((_, response) => response.writeHead(200).write("{"), { timeoutMs: 50 });
    expect((await failureOf(client.cluster())).code).toBe("timeout");
  });

  test("text that is no JSON is named so", async () => {
    const { client } = await clientOf((_, response) => response.end("<html>"));
    expect(await failureOf(client.cluster())).toMatchObject({ code: "malformed", retryable: false });
  });

  test("a server that isn't there is unreachable, with the system's reason", async () => {
    const { baseUrl } = await clientOf(() => undefined);
    for (const close of closers.splice(0)) close();
    const client = new GraphClient({ baseUrl, timeoutMs: 5_000 });
    const error = await failureOf(client.cluster());
    expect(error).toMatchObject({ code: "unreachable", retryable: true });
    expect(error.message).toMatch(/ECONN/);
  });

  test("the caller's abort is the caller's own error", async () => {
    const { client } = await clientOf(() => undefined);
    const abort = new AbortController();
    const pending = client.cluster(abort.signal);
    abort.abort(new Error("enough"));
    await expect(pending).rejects.toThrow("enough");
  });
});

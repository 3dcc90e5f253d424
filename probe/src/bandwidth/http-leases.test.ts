import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createHttpLeases } from "./http-leases.ts";

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function serve(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(handle);
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const answering = (status: number, body: string, type = "application/json"): Promise<string> =>
  serve((_, response) => response.writeHead(status, { "content-type": type }).end(body));

const never = new AbortController().signal;

test("asks for the node, and takes the lease as it is", async () => {
  const seen: unknown[] = [];
  const lease = { id: "l 1", target: "b", expiresInMs: 20_000, maxBytes: 64_000_000 };
  const url = await serve((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => {
      seen.push([request.method, request.url, request.headers["content-type"], body]);
      if (request.method === "POST") response.end(JSON.stringify({ lease, retryAfterMs: 5000 }));
      else response.writeHead(204).end();
    });
  });
  const leases = createHttpLeases({ aggregatorUrl: `${url}/` });
  expect(await leases.acquire("a", never)).toEqual({ lease, retryAfterMs: 5000 });
  await leases.release(lease);
  expect(seen).toEqual([
    ["POST", "/api/v1/bandwidth-leases", "application/json", '{"node":"a"}'],
    ["DELETE", "/api/v1/bandwidth-leases/l%201", undefined, ""],
  ]);
});

test("no lease now", async () => {
  const url = await answering(200, '{"lease":null,"retryAfterMs":1234}');
  expect(await createHttpLeases({ aggregatorUrl: url }).acquire("a", never)).toEqual({
    lease: null,
    retryAfterMs: 1234,
  });
});

test.each([
  [503, true],
  [429, true],
  [404, false],
  [400, false],
])("status %d is an error that says what the aggregator said; retryable: %s", async (status, retryable) => {
  const problem = '{"type":"about:blank","title":"no such node","detail":"a isn\'t in the cluster"}';
  const url = await answering(status, problem, "application/problem+json");
  await expect(createHttpLeases({ aggregatorUrl: url }).acquire("a", never)).rejects.toMatchObject({
    code: "probe_lease_unreachable",
    retryable,
    message: expect.stringContaining(`status ${status}, no such node: a isn't in the cluster`) as unknown,
  });
});

test.each([
  ["no JSON", "<html>"],
  ["no object", "[1]"],
  ["no time", '{"lease":null}'],
  ["a negative time", '{"lease":null,"retryAfterMs":-1}'],
  ["a lease without target", '{"lease":{"id":"x","expiresInMs":1,"maxBytes":1},"retryAfterMs":1}'],
  [
    "bytes that are text",
    '{"lease":{"id":"x","target":"b","expiresInMs":1,"maxBytes":"9"},"retryAfterMs":1}',
  ],
  ["a huge answer", `{"lease":null,"retryAfterMs":1,"x":"${"y".repeat(70_000)}"}`],
])("an answer with %s is refused", async (_, body) => {
  const url = await answering(200, body);
  await expect(createHttpLeases({ aggregatorUrl: url }).acquire("a", never)).rejects.toMatchObject({
    code: "probe_lease_unreachable",
    retryable: false,
  });
});

test("nobody there: retryable to ask, and nothing to give a lease back", async () => {
  const leases = createHttpLeases({ aggregatorUrl: "http://127.0.0.1:1" });
  await expect(leases.acquire("a", never)).rejects.toMatchObject({ retryable: true });
  await leases.release({ id: "x", target: "b", expiresInMs: 1, maxBytes: 1 });
});

test("an aggregator that doesn't answer is given up", async () => {
  const url = await serve(() => undefined);
  const leases = createHttpLeases({ aggregatorUrl: url, timeoutMs: 100 });
  await expect(leases.acquire("a", never)).rejects.toMatchObject({ retryable: true });
});

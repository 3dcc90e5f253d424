import { createServer, type Server, type ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createHttpPlanSource } from "./http-plan-source.ts";

const KEYS = { heldKeyIds: [1, 2], signingKeyId: 1 };
const NEVER = new AbortController().signal;

let server: Server;
let url: string;
let answer: (response: ServerResponse) => void;
const headers: Record<string, unknown>[] = [];

beforeEach(async () => {
  headers.length = 0;
  server = createServer((request, response) => {
    headers.push({ path: request.url, ...request.headers });
    answer(response);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise<void>((resolve) => void server.close(() => resolve()));
});

describe("plan source over HTTP", () => {
  test("tells which keys are held and which one signs, and the version that is in force", async () => {
    answer = (response) => response.writeHead(200, { etag: '"7"' }).end('{"a":1}');
    const source = createHttpPlanSource({ aggregatorUrl: `${url}//`, node: "a b" });
    expect(await source.fetch(null, KEYS, NEVER)).toEqual({ kind: "plan", body: { a: 1 }, etag: '"7"' });
    answer = (response) => response.writeHead(304).end();
    expect(await source.fetch('"7"', { heldKeyIds: [], signingKeyId: 0 }, NEVER)).toEqual({
      kind: "unchanged",
    });
    expect(headers[0]).toMatchObject({
      path: "/api/v1/probe-plan/a%20b",
      "isochrone-probe-keys": "1,2;signing=1",
    });
    expect(headers[0]).not.toHaveProperty("if-none-match");
    expect(headers[1]).toMatchObject({ "if-none-match": '"7"', "isochrone-probe-keys": ";signing=0" });
  });

  test.each([
    [429, "7", 7000],
    [503, "0", 0],
    [503, "999999999", 600_000],
  ])("a busy source's Retry-After is passed on: %i, %s s", async (status, retryAfter, retryAfterMs) => {
    answer = (response) => response.writeHead(status, { "retry-after": retryAfter }).end();
    const fetching = createHttpPlanSource({ aggregatorUrl: url, node: "a" }).fetch(null, KEYS, NEVER);
    await expect(fetching).rejects.toMatchObject({
      code: "probe_plan_unreachable",
      retryable: true,
      retryAfterMs,
    });
  });

  test.each([
    [503, {}, ""],
    [503, { "retry-after": "-1" }, ""],
    [503, { "retry-after": "soon" }, ""],
    [500, { "retry-after": "7" }, ""],
    [302, { location: "http://127.0.0.1:9/" }, ""],
    [204, {}, ""],
    [200, {}, "no JSON"],
    [200, {}, "[".repeat(2 << 20)],
  ] as const)("anything else is an error that names the address: %i %j", async (status, given, body) => {
    answer = (response) => response.writeHead(status, given).end(body);
    const source = createHttpPlanSource({ aggregatorUrl: url, node: "a" });
    const error = await source.fetch(null, KEYS, NEVER).then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ code: "probe_plan_unreachable", message: expect.stringContaining(url) });
    expect(error).not.toHaveProperty("retryAfterMs");
  });

  test("a source that stops in the middle is given up after the time limit", async () => {
    answer = (response) => response.writeHead(200).write("{");
    const source = createHttpPlanSource({ aggregatorUrl: url, node: "a", timeoutMs: 50 });
    await expect(source.fetch(null, KEYS, NEVER)).rejects.toMatchObject({ code: "probe_plan_unreachable" });
  });
});

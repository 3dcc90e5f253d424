import { once } from "node:events";
import { request as ask, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { Gauge, type Registry } from "prom-client";
import { afterEach, describe, expect, test } from "vitest";
import { createRegistry } from "../metrics.ts";
import { MemoryLogger } from "../testing/index.ts";
import { createHttpApp, listen } from "./index.ts";
import { createPages } from "./pages.ts";

interface Served {
  readonly url: string;
  readonly registry: Registry;
  readonly logger: MemoryLogger;
  stop(): Promise<unknown>;
}

const HOST = "127.0.0.1";
const state = { ready: true, reasons: [] as string[] };
const running: Served[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((served) => served.stop()));
  Object.assign(state, { ready: true, reasons: [] });
});

function ready(): typeof state {
  if (state.reasons.includes("throw")) throw new Error("the password is hunter2");
  return state;
}

const SERVERS = {
  async app() {
    const [registry, logger] = [createRegistry(), new MemoryLogger()];
    const app = await createHttpApp({ name: "test", logger, registry, bodyLimitBytes: 1024, ready });
    const { url } = await listen(app, { host: HOST, port: 0 });
    return kept({ url, registry, logger, stop: () => app.close() });
  },
  async pages() {
    const [registry, logger] = [createRegistry(), new MemoryLogger()];
    const pages = createPages({ name: "test", logger, registry, ready, host: HOST, port: 0, setting: "a.b" });
    await pages.start();
    return kept({ url: pages.url, registry, logger, stop: () => pages.stop() });
  },
} satisfies Readonly<Record<string, () => Promise<Served>>>;

function kept(served: Served): Served {
  running.push(served);
  return served;
}

interface Heard {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function heard(url: string, method: string, headers: Record<string, string> = {}): Promise<Heard> {
  const request = ask(url, { method, headers, agent: false });
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  let body = "";
  for await (const chunk of response) body += String(chunk);
  return { status: response.statusCode, headers: response.headers, body };
}

describe.each(Object.entries(SERVERS))("the pages of a server by %s", (_name, serve) => {
  test.each([
    ["GET", "/healthz", 200, '{"status":"ok"}'],
    ["GET", "/healthz?verbose", 200, '{"status":"ok"}'],
    ["HEAD", "/healthz", 200, ""],
    ["GET", "/readyz", 200, '{"ready":true,"reasons":[]}'],
    ["HEAD", "/metrics", 200, ""],
  ])("%s %s is %i", async (method, path, status, body) => {
    const { url } = await serve();
    const answer = await heard(url + path, method);
    expect(answer).toMatchObject({ status, body });
    expect(answer.headers["x-content-type-options"]).toBe("nosniff");
    const type = path === "/metrics" ? "text/plain; version=0.0.4" : "application/json";
    expect(answer.headers["content-type"]).toBe(`${type}; charset=utf-8`);
    expect(Number(answer.headers["content-length"])).toBeGreaterThan(0);
  });

  test("readiness is 503 with its reasons", async () => {
    const { url } = await serve();
    Object.assign(state, { ready: false, reasons: ["no plan"] });
    expect(await heard(`${url}/readyz`, "GET")).toMatchObject({
      status: 503,
      body: '{"ready":false,"reasons":["no plan"]}',
    });
  });

  test("metrics are the registry's, and count the requests by route", async () => {
    const { url, registry } = await serve();
    new Gauge({ name: "a_gauge", help: "It is.", registers: [registry] }).set(7);
    await heard(`${url}/nowhere`, "GET");
    const { headers, body } = await heard(`${url}/metrics`, "GET");
    expect(headers["content-type"]).toBe(registry.contentType);
    expect(body).toContain("a_gauge 7\n");
    const page = await registry.metrics();
    for (const [route, code] of [
      ["unmatched", 404],
      ["/metrics", 200],
    ])
      expect(page).toContain(
        `isochrone_http_requests_total{server="test",route="${route}",method="GET",code="${code}"} 1\n`,
      );
    expect(page).toContain('isochrone_http_requests_in_flight{server="test"} 0\n');
  });

  test("an unknown path is a 404 problem", async () => {
    const { url } = await serve();
    const { status, headers, body } = await heard(`${url}/toString`, "GET");
    expect([status, headers["content-type"]]).toEqual([404, "application/problem+json"]);
    expect(JSON.parse(body)).toEqual({
      type: "about:blank",
      title: "Not Found",
      status: 404,
      code: "not_found",
      detail: "no such resource",
    });
  });

  test("another method is a 405 problem with Allow", async () => {
    const { url } = await serve();
    const { status, headers, body } = await heard(`${url}/metrics`, "DELETE");
    expect([status, headers.allow]).toEqual([405, "GET, HEAD"]);
    expect(JSON.parse(body)).toMatchObject({ code: "method_not_allowed", detail: "use GET or HEAD" });
  });

  test("an error is a 500 without its details, which the log has", async () => {
    const { url, logger } = await serve();
    Object.assign(state, { reasons: ["throw"] });
    const { status, body } = await heard(`${url}/readyz`, "GET");
    expect(status).toBe(500);
    expect(JSON.parse(body)).toEqual({
      type: "about:blank",
      title: "Internal Server Error",
      status: 500,
      code: "internal",
    });
    expect(logger.lines).toMatchObject([{ level: "error", event: "request failed" }]);
  });

  test("on a loopback address foreign names and pages are refused, and counted", async () => {
    const { url, registry } = await serve();
    const foreign = await heard(`${url}/metrics`, "GET", { host: "evil.example" });
    expect([foreign.status, JSON.parse(foreign.body)]).toMatchObject([403, { code: "foreign_host" }]);
    const page = await heard(`${url}/metrics`, "GET", { origin: "https://evil.example" });
    expect([page.status, JSON.parse(page.body)]).toMatchObject([403, { code: "foreign_origin" }]);
    expect(await registry.metrics()).toContain(
      'isochrone_http_refused_total{server="test",reason="foreign_host"} 1\n',
    );
  });

  test("a close ends connections that idle, and those on which nobody has asked for anything", async () => {
    const served = await serve();
    const { port } = new URL(served.url);
    const [idle, silent] = [connect(Number(port), HOST), connect(Number(port), HOST)];
    const ends = Promise.all([once(idle, "close"), once(silent, "close")]);
    idle.write(`GET /healthz HTTP/1.1\r\nHost: ${HOST}:${port}\r\n\r\n`);
    await once(idle, "data");
    for (const socket of [idle, silent]) socket.resume();
    await served.stop();
    expect(await ends).toHaveLength(2);
  });

  test("a port that is taken names host, port and setting", async () => {
    const { url } = await serve();
    const { port } = new URL(url);
    const [registry, logger] = [createRegistry(), new MemoryLogger()];
    const target = { host: HOST, port: Number(port), setting: "a.b" };
    const second = createPages({ name: "second", logger, registry, ready, ...target });
    await expect(second.start()).rejects.toThrow(
      `cannot listen on ${HOST} port ${port}: another program listens there (EADDRINUSE); choose another with the setting a.b`,
    );
    await second.stop();
  });
});

test("a body that nobody reads ends with its connection", async () => {
  const { url } = await SERVERS.pages();
  const { port } = new URL(url);
  const socket = connect(Number(port), HOST);
  socket.write(`POST /healthz HTTP/1.1\r\nHost: ${HOST}:${port}\r\nContent-Length: 1000000000\r\n\r\nabc`);
  let text = "";
  socket.on("data", (chunk) => (text += chunk.toString()));
  await once(socket, "close");
  expect(text).toMatch(/^HTTP\/1\.1 405 /);
  expect(text).toContain("connection: close");
});

import { connect } from "node:net";
import { Type } from "typebox";
import { afterEach, expect, test } from "vitest";
import { createRegistry } from "../metrics.ts";
import { MemoryLogger } from "../testing/index.ts";
import { createHttpApp, HttpError, listen } from "./index.ts";
import type { HttpApp, HttpAppOptions } from "./index.ts";

const open: HttpApp[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((app) => app.close()));
});

async function build(options: Partial<HttpAppOptions> = {}) {
  const logger = new MemoryLogger();
  const registry = createRegistry();
  const ready = () => ({ ready: true, reasons: [] });
  const app = await createHttpApp({
    name: "test",
    logger,
    registry,
    bodyLimitBytes: 1024,
    ready,
    ...options,
  });
  open.push(app);
  return { app, logger, registry };
}

const bodySchema = Type.Object(
  { name: Type.String({ minLength: 2 }), size: Type.Integer({ minimum: 1 }) },
  { additionalProperties: false },
);

async function buildWithRoutes(options: Partial<HttpAppOptions> = {}) {
  const built = await build(options);
  built.app.get("/items/:id", { schema: { params: Type.Object({ id: Type.Integer() }) } }, (request) => {
    return { twice: request.params.id * 2 };
  });
  built.app.get(
    "/list",
    {
      schema: { querystring: Type.Object({ limit: Type.Integer({ minimum: 1, maximum: 10, default: 5 }) }) },
    },
    (request) => ({ limit: request.query.limit }),
  );
  built.app.post("/items", { schema: { body: bodySchema } }, (request) => ({ size: request.body.size }));
  built.app.get("/broken", () => {
    throw new Error("the password is hunter2");
  });
  built.app.get("/teapot", () => {
    throw new HttpError(409, "plan_exists", "a plan of this name exists");
  });
  return built;
}

test("a path and a query are converted to the types of their schemas", async () => {
  const { app } = await buildWithRoutes();
  expect((await app.inject("/items/21")).json()).toEqual({ twice: 42 });
  expect((await app.inject("/list?limit=7")).json()).toEqual({ limit: 7 });
  expect((await app.inject("/list")).json()).toEqual({ limit: 5 });
});

test("a query out of bounds is a 400 problem that names field, rule and value", async () => {
  const { app } = await buildWithRoutes();
  const response = await app.inject("/list?limit=99");
  expect(response.statusCode).toBe(400);
  expect(response.headers["content-type"]).toBe("application/problem+json");
  expect(response.json()).toMatchObject({
    title: "Bad Request",
    status: 400,
    code: "request_invalid",
    detail: "querystring.limit must be <= 10, got 99",
    errors: [{ field: "querystring.limit", rule: "must be <= 10", value: 99 }],
  });
});

test("a value outside a union is one mistake that lists what is allowed", async () => {
  const { app } = await build();
  const window = Type.Union([Type.Literal("full"), Type.Literal("fast")]);
  const rest = { name: Type.Optional(Type.Union([Type.String(), Type.Null()])) };
  app.post(
    "/windows",
    { schema: { querystring: Type.Object({ window }), body: Type.Object(rest) } },
    () => ({}),
  );
  const post = async (query: string, payload: object): Promise<unknown> =>
    (await app.inject({ method: "POST", url: `/windows?window=${query}`, payload })).json().errors;
  expect(await post("slow", {})).toEqual([
    { field: "querystring.window", rule: "must be one of full, fast", value: "slow" },
  ]);
  expect(await post("fast", { name: 7 })).toEqual([
    { field: "body.name", rule: "must be one of string, null", value: 7 },
  ]);
});

test("a text where the body wants a number is refused, not converted", async () => {
  const { app } = await buildWithRoutes();
  const response = await app.inject({ method: "POST", url: "/items", payload: { name: "ab", size: "5" } });
  expect(response.statusCode).toBe(400);
  expect(response.json().errors).toEqual([{ field: "body.size", rule: "must be integer", value: "5" }]);
});

test("a missing field is named", async () => {
  const { app } = await buildWithRoutes();
  const response = await app.inject({ method: "POST", url: "/items", payload: { name: "ab" } });
  expect(response.json().errors).toEqual([{ field: "body.size", rule: "must be present" }]);
});

test("an unknown field is named", async () => {
  const { app } = await buildWithRoutes();
  const response = await app.inject({
    method: "POST",
    url: "/items",
    payload: { name: "ab", size: 1, colour: "x" },
  });
  expect(response.json().errors).toEqual([{ field: "body.colour", rule: "is not known" }]);
});

test("a body that is no JSON is a 400 problem", async () => {
  const { app } = await buildWithRoutes();
  const headers = { "content-type": "application/json" };
  const response = await app.inject({ method: "POST", url: "/items", payload: "{", headers });
  expect(response.json()).toMatchObject({ status: 400 });
});

test("a body above the limit is a 413 problem", async () => {
  const { app } = await buildWithRoutes();
  const response = await app.inject({
    method: "POST",
    url: "/items",
    payload: { name: "x".repeat(2000), size: 1 },
  });
  expect(response.json()).toMatchObject({ status: 413, title: "Payload Too Large" });
});

test("a media type that no route takes is a 415 problem", async () => {
  const { app } = await buildWithRoutes();
  const headers = { "content-type": "text/csv" };
  const response = await app.inject({ method: "POST", url: "/items", payload: "a,b", headers });
  expect(response.json()).toMatchObject({ status: 415 });
});

test("an unknown path is a 404 problem", async () => {
  const { app } = await buildWithRoutes();
  const response = await app.inject("/nowhere");
  expect(response.statusCode).toBe(404);
  expect(response.headers["content-type"]).toBe("application/problem+json");
});

test("a known path with another method is a 405 problem with Allow", async () => {
  const { app } = await buildWithRoutes();
  const response = await app.inject({ method: "DELETE", url: "/items/4" });
  expect(response.statusCode).toBe(405);
  expect(response.headers["allow"]).toBe("GET, HEAD");
});

test("an unexpected error is a 500 without its details, which the log has", async () => {
  const { app, logger } = await buildWithRoutes();
  const response = await app.inject("/broken");
  expect(response.json()).toEqual({
    type: "about:blank",
    title: "Internal Server Error",
    status: 500,
    code: "internal",
  });
  expect(logger.lines[0]).toMatchObject({
    level: "error",
    event: "request failed",
    fields: { route: "/broken" },
  });
});

test("an HttpError answers with its own code and detail", async () => {
  const { app } = await buildWithRoutes();
  expect((await app.inject("/teapot")).json()).toMatchObject({
    status: 409,
    code: "plan_exists",
    detail: "a plan of this name exists",
  });
});

test("HEAD answers like GET without a body", async () => {
  const { app } = await buildWithRoutes();
  const response = await app.inject({ method: "HEAD", url: "/list" });
  expect(response.statusCode).toBe(200);
  expect(response.body).toBe("");
});

test("health is 200 while readiness is 503 with reasons", async () => {
  const { app } = await build({ ready: () => ({ ready: false, reasons: ["no plan yet"] }) });
  expect((await app.inject("/healthz")).statusCode).toBe(200);
  const response = await app.inject("/readyz");
  expect(response.statusCode).toBe(503);
  expect(response.json()).toEqual({ ready: false, reasons: ["no plan yet"] });
});

test("requests are counted by route pattern, unmatched ones under one name", async () => {
  const { app } = await buildWithRoutes();
  await app.inject("/items/1");
  await app.inject("/items/2");
  await app.inject("/random-1");
  const text = (await app.inject("/metrics")).body;
  expect(text).toContain(
    'isochrone_http_requests_total{server="test",route="/items/:id",method="GET",code="200"} 2',
  );
  expect(text).toContain(
    'isochrone_http_requests_total{server="test",route="unmatched",method="GET",code="404"} 1',
  );
  expect(text).toMatch(
    /isochrone_http_request_duration_seconds_count\{server="test",route="\/items\/:id",method="GET"\} 2/,
  );
});

test("two servers share a registry", async () => {
  const registry = createRegistry();
  const first = await build({ registry, name: "one" });
  const second = await build({ registry, name: "two" });
  await first.app.inject("/healthz");
  await second.app.inject("/healthz");
  const text = await registry.metrics();
  expect(text).toContain('server="one",route="/healthz"');
  expect(text).toContain('server="two",route="/healthz"');
});

test("requests above the limit get 503 and are counted, and health still answers", async () => {
  const { app } = await build({ maxConcurrentRequests: 1 });
  const gate = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  app.get("/slow", async () => {
    entered.resolve();
    await gate.promise;
    return { done: true };
  });
  const { url } = await listen(app, { host: "127.0.0.1", port: 0 });
  const slow = fetch(`${url}/slow`);
  await entered.promise;
  const refused = await fetch(`${url}/slow`);
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(await refused.json()).toMatchObject({ code: "overloaded" });
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect(await (await fetch(`${url}/metrics`)).text()).toContain(
    'isochrone_http_requests_rejected_total{server="test"} 1',
  );
  gate.resolve();
  expect((await slow).status).toBe(200);
  expect((await fetch(`${url}/slow`)).status).toBe(200);
});

test("the OpenAPI document lists the routes and not the server's own", async () => {
  const { app } = await buildWithRoutes({ openapi: { path: "/openapi.json", title: "Test", version: "1" } });
  const document = (await app.inject("/openapi.json")).json();
  expect(document.openapi).toBe("3.1.0");
  expect(Object.keys(document.paths)).toContain("/items/{id}");
  expect(Object.keys(document.paths)).not.toContain("/metrics");
});

test("close ends a keep-alive connection that idles", async () => {
  const { app } = await build({ closeDeadlineMs: 60_000 });
  const { port } = await listen(app, { host: "127.0.0.1", port: 0 });
  const socket = connect(port, "127.0.0.1");
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write(`GET /healthz HTTP/1.1\r\nhost: localhost:${port}\r\n\r\n`);
  await new Promise((resolve) => socket.once("data", resolve));
  await app.close();
  await closed;
  expect(socket.destroyed).toBe(true);
});

test("close ends a connection on which nobody has asked for anything", async () => {
  const { app } = await build({ closeDeadlineMs: 600_000 });
  const { port } = await listen(app, { host: "127.0.0.1", port: 0 });
  const accepted = new Promise((resolve) => app.server.once("connection", resolve));
  const socket = connect({ host: "127.0.0.1", port }).on("error", () => undefined);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await accepted;
  await app.close();
  await closed;
  expect(socket.destroyed).toBe(true);
});

test("close cuts an answer that outlasts the deadline", async () => {
  const { app } = await build({ closeDeadlineMs: 50 });
  const entered = Promise.withResolvers<void>();
  app.get("/forever", () => {
    entered.resolve();
    return new Promise(() => undefined);
  });
  const { url } = await listen(app, { host: "127.0.0.1", port: 0 });
  const answer = fetch(`${url}/forever`).catch((error: unknown) => error);
  await entered.promise;
  await app.close();
  expect(await answer).toBeInstanceOf(Error);
});

test("a request that does not arrive in full is ended by the request timeout", async () => {
  const { app } = await buildWithRoutes({ requestTimeoutMs: 100 });
  const { port } = await listen(app, { host: "127.0.0.1", port: 0 });
  const socket = connect(port, "127.0.0.1");
  let answer = "";
  socket.on("data", (chunk: Buffer) => (answer += chunk.toString()));
  socket.write(
    `POST /items HTTP/1.1\r\nhost: localhost:${port}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\nhalf`,
  );
  await new Promise((resolve) => socket.once("close", resolve));
  expect(answer).toContain("408");
});

test("a route that takes too long is a 503 problem and its signal is aborted", async () => {
  const { app } = await build({ handlerTimeoutMs: 50 });
  const aborted = Promise.withResolvers<void>();
  app.get("/stuck", (request) => {
    request.signal.addEventListener("abort", () => aborted.resolve());
    return new Promise(() => undefined);
  });
  const response = await app.inject("/stuck");
  expect(response.json()).toMatchObject({ status: 503, code: "handler_timeout" });
  await aborted.promise;
});

test("the signal of a request whose body has come is not aborted before its answer", async () => {
  const { app } = await build();
  const aborted: boolean[] = [];
  app.post("/seen", (request) => {
    aborted.push(request.signal.aborted);
    return {};
  });
  const { url } = await listen(app, { host: "127.0.0.1", port: 0 });
  const headers = { "content-type": "application/json" };
  expect((await fetch(`${url}/seen`, { method: "POST", headers, body: "{}" })).status).toBe(200);
  expect(aborted).toEqual([false]);
});

test("a port that is taken gives an error that names host, port and setting", async () => {
  const first = await build();
  const { port } = await listen(first.app, { host: "127.0.0.1", port: 0 });
  const second = await build();
  await expect(listen(second.app, { host: "127.0.0.1", port, setting: "test.port" })).rejects.toThrow(
    `cannot listen on 127.0.0.1 port ${port}: another program listens there (EADDRINUSE); choose another with the setting test.port`,
  );
});

test("JSON that is nested too deeply is a 400 problem that names the rule, and nothing is logged", async () => {
  const { app, logger } = await buildWithRoutes();
  app.post("/any", (request) => ({ got: typeof request.body }));
  const headers = { "content-type": "application/json" };
  for (const url of ["/items", "/any"])
    for (const payload of [
      deep(101),
      deep(400),
      deep(101, '{"name":', "}"),
      `{"name":"ab","size":${deep(200)}}`,
    ]) {
      const response = await app.inject({ method: "POST", url, payload, headers });
      expect(response.json()).toMatchObject({
        status: 400,
        code: "json_too_deep",
        detail: "the body must be nested at most 100 levels deep, got more",
      });
    }
  const allowed = await app.inject({ method: "POST", url: "/any", payload: deep(100), headers });
  expect(allowed.json()).toEqual({ got: "object" });
  expect(logger.lines).toEqual([]);
});

function deep(levels: number, open = "[", close = "]"): string {
  return `${open.repeat(levels)}1${close.repeat(levels)}`;
}

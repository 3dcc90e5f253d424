// gRPC and other HTTP/2, and requests translated between protocols.
import { once } from "node:events";
import {
  connect,
  createServer,
  type ClientHttp2Stream,
  type Http2Server,
  type ServerHttp2Stream,
} from "node:http2";
import { PassThrough } from "node:stream";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ask, ask2 } from "./testing/client.ts";
import { DispatchRig } from "./testing/dispatch-rig.ts";

let rig: DispatchRig;
afterEach(() => rig.stop());

const GRPC = { "content-type": "application/grpc", te: "trailers" };

type StreamHandler = (stream: ServerHttp2Stream, headers: Readonly<Record<string, unknown>>) => void;

function http2Server(handler: StreamHandler): Http2Server {
  const server = createServer();
  server.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    handler(stream, headers);
  });
  server.on("sessionError", () => undefined);
  return server;
}

const echoes: StreamHandler = (stream, headers) => {
  stream.respond(
    { ":status": 200, "content-type": "application/grpc", "x-te": String(headers["te"]) },
    { waitForTrailers: true },
  );
  stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0", "x-end": "yes" }));
  stream.pipe(stream);
};

async function started(handler: StreamHandler, fields: { appProtocol?: string } = {}): Promise<Http2Server> {
  rig = await new DispatchRig().start();
  await rig.service("web", { appProtocol: "kubernetes.io/h2c", ...fields });
  const server = http2Server(handler);
  await rig.serve(server);
  await vi.waitFor(async () =>
    expect(
      (await ask2(rig.port, { headers: GRPC, method: "POST", body: "" })).headers["grpc-status"],
    ).not.toBe("12"),
  );
  return server;
}

describe("gRPC", () => {
  test("has its messages, its trailers and what its headers say", async () => {
    await started(echoes);
    const answer = await ask2(rig.port, {
      method: "POST",
      path: "/shop.Web/Get",
      headers: GRPC,
      body: "message",
    });
    expect(answer).toMatchObject({
      status: 200,
      body: "message",
      headers: { "x-te": "trailers", "content-type": "application/grpc" },
      trailers: { "grpc-status": "0", "x-end": "yes" },
    });
  });

  test("streams both ways while neither has ended", async () => {
    await started(echoes);
    const session = connect(rig.url);
    const stream: ClientHttp2Stream = session.request({
      ":method": "POST",
      ":path": "/shop.Web/Chat",
      ":authority": "web.shop",
      ...GRPC,
    });
    stream.setEncoding("utf8");
    for (const word of ["one", "two", "three"]) {
      const heard = once(stream, "data");
      stream.write(word);
      expect(await heard).toEqual([word]);
    }
    const trailers = once(stream, "trailers");
    stream.end();
    expect((await trailers)[0]).toMatchObject({ "grpc-status": "0" });
    session.close();
  });

  test("that answers with trailers alone comes as it was, and counts against its endpoint", async () => {
    await started((stream) =>
      stream.respond(
        { ":status": 200, "content-type": "application/grpc", "grpc-status": "14", "grpc-message": "busy" },
        { endStream: true },
      ),
    );
    const session = connect(rig.url);
    const stream = session.request({ ":method": "POST", ":path": "/", ":authority": "web.shop", ...GRPC });
    stream.end();
    const [headers, flags] = (await once(stream, "response")) as [Record<string, string>, number];
    expect(headers).toMatchObject({ "grpc-status": "14", "grpc-message": "busy" });
    // END_STREAM: otherwise a client sees a call without a status.
    expect(flags & 1).toBe(1);
    session.close();
    await vi.waitFor(async () => {
      await ask2(rig.port, { method: "POST", headers: GRPC, body: "" });
      expect(rig.dispatcher.decisions(null, 1)[0]!.tries[0]!.failureShare).toBeGreaterThan(0);
    });
  });

  test("is refused by a status of its own", async () => {
    await started(echoes);
    const answer = await ask2(rig.port, { method: "POST", host: "db.shop", headers: GRPC, body: "" });
    expect(answer).toMatchObject({
      status: 200,
      headers: { "grpc-status": "12", "isochrone-reason": "unknown_service" },
    });
    const late = await ask2(rig.port, {
      method: "POST",
      headers: { ...GRPC, "grpc-timeout": "1n" },
      body: "",
    });
    expect(late.headers["grpc-status"]).toBe("4");
  });

  test("that a client resets ends at the endpoint too", async () => {
    const code = Promise.withResolvers<number | undefined>();
    await started((stream, headers) => {
      if (headers[":path"] !== "/long") return echoes(stream, headers);
      stream.respond({ ":status": 200 });
      stream.write("first");
      stream.once("close", () => code.resolve(stream.rstCode));
      return undefined;
    });
    const session = connect(rig.url);
    const stream = session.request({
      ":path": "/long",
      ":authority": "web.shop",
      ":method": "POST",
      ...GRPC,
    });
    stream.on("error", () => undefined);
    await once(stream, "data");
    stream.close(8);
    expect(await code.promise).toBe(8);
    session.close();
  });

  test("goes elsewhere when an endpoint refuses the stream before it looks at it", async () => {
    rig = await new DispatchRig().start();
    await rig.service("web", { appProtocol: "kubernetes.io/h2c" });
    for (const handler of [echoes, (stream: ServerHttp2Stream) => stream.close(7)])
      await rig.serve(http2Server(handler));
    await vi.waitFor(async () => {
      const answer = await ask2(rig.port, { headers: GRPC, method: "POST" });
      expect(answer.trailers["grpc-status"]).toBe("0");
      expect(await rig.metric("retries_total")).toMatchObject([{ labels: { fault: "refused_stream" } }]);
    });
  });
});

test("requests of HTTP/2 reach endpoints that speak HTTP/1.1, and the other way round", async () => {
  await started(echoes);
  expect(await ask(rig.port, { method: "POST", body: "old" })).toMatchObject({
    status: 200,
    body: "old",
    trailers: { "grpc-status": "0" },
  });
  await rig.service("old");
  await rig.endpoint(
    (request, response) => {
      response.setHeader("set-cookie", ["a=1", "b=2"]);
      response.setHeader("connection", "close");
      request.pipe(response);
    },
    { service: "old" },
  );
  await vi.waitFor(async () => {
    const body = new PassThrough();
    body.end("streamed");
    expect(await ask2(rig.port, { method: "POST", host: "old.shop", body })).toMatchObject({
      status: 200,
      body: "streamed",
      headers: { "set-cookie": ["a=1", "b=2"] },
    });
  });
  expect(await ask2(rig.port, { host: "old.shop", method: "HEAD" })).toMatchObject({ status: 200, body: "" });
});

test("a gRPC endpoint that is no HTTP/2 server is said to be broken", async () => {
  rig = await new DispatchRig().start();
  await rig.service("web", { appProtocol: "grpc" });
  await rig.endpoint((_request, response) => response.end());
  await vi.waitFor(async () => {
    const answer = await ask2(rig.port, { method: "POST", headers: GRPC, body: "" });
    expect(answer.headers).toMatchObject({ "grpc-status": "14" });
    expect(["broken_off", "unreachable"]).toContain(answer.headers["isochrone-reason"]);
  });
});

test("more calls than a connection takes get another one", async () => {
  const waiting: ServerHttp2Stream[] = [];
  const sessions = new Set<unknown>();
  await started((stream, headers) => {
    if (headers[":path"] !== "/wait") return echoes(stream, headers);
    waiting.push(stream);
    sessions.add(stream.session);
    return undefined;
  });
  const calls = Array.from({ length: 150 }, () =>
    ask2(rig.port, { method: "POST", path: "/wait", headers: GRPC, body: "x" }),
  );
  await vi.waitFor(() => expect(waiting.length).toBe(150), { timeout: 10_000 });
  expect(sessions.size).toBe(2);
  for (const stream of waiting) echoes(stream, {});
  expect((await Promise.all(calls)).every(({ trailers }) => trailers["grpc-status"] === "0")).toBe(true);
}, 30_000);

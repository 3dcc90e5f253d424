// Endpoints that close connections regularly: no request fails that an endpoint can't have started.
import { once } from "node:events";
import { createServer as createHttp1, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2, type Http2Server, type ServerHttp2Stream } from "node:http2";
import { connect, createServer, type Socket } from "node:net";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ask, ask2 } from "./testing/client.ts";
import { known } from "./testing/counted.ts";
import { DispatchRig } from "./testing/dispatch-rig.ts";

let rig: DispatchRig;
afterEach(() => rig.stop());

async function started(appProtocol?: string): Promise<void> {
  rig = await new DispatchRig().start();
  await rig.service("web", appProtocol === undefined ? {} : { appProtocol });
}

const retries = (): Promise<readonly object[]> => rig.metric("retries_total");

async function failureShare(): Promise<number | undefined> {
  await ask(rig.port);
  return rig.dispatcher.decisions(null, 1)[0]?.tries[0]?.failureShare;
}

describe("an HTTP/1.1 endpoint that ends a kept connection as the next request comes", () => {
  let arrived: string[] = [];

  async function closing(endpoints = 1): Promise<void> {
    arrived = [];
    await started();
    const served = new WeakSet<Socket>();
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      if (served.has(request.socket)) return void request.socket.destroy();
      served.add(request.socket);
      arrived.push(request.method ?? "");
      request.resume().once("end", () => response.end("ok"));
    };
    for (let each = 0; each < endpoints; each++) await rig.endpoint(answer);
    await known(rig, endpoints);
  }

  const warm = (connections: number): Promise<unknown> =>
    Promise.all(Array.from({ length: connections }, () => ask(rig.port)));

  test.each(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])("costs %s nothing, the only one", async (method) => {
    await closing();
    for (let each = 0; each < 20; each++) {
      await warm(3);
      const before = arrived.filter((name) => name === method).length;
      expect(await ask(rig.port, { method })).toMatchObject({ status: 200 });
      expect(arrived.filter((name) => name === method).length).toBe(before + 1);
    }
    expect(await failureShare()).toBe(0);
    expect(await retries()).toMatchObject([{ labels: { fault: "closed" } }]);
  });

  test("costs many GETs at once nothing, however many retries there were of late", async () => {
    await closing();
    await warm(60);
    const answers = await Promise.all(Array.from({ length: 60 }, () => ask(rig.port)));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(await failureShare()).toBe(0);
  });

  test("isn't sent a POST again that it may have begun with, nor a body that is gone", async () => {
    await closing(2);
    for (const method of ["POST", "PATCH", "PUT"])
      for (let each = 0; each < 10; each++) {
        await warm(4);
        const before = arrived.length;
        const { status } = await ask(rig.port, { method, body: "once" });
        expect([200, 502]).toContain(status);
        expect(arrived.length - before).toBe(status === 200 ? 1 : 0);
      }
  });
});

test("a POST whose kept connection has ended goes over another one, its body whole and once", async () => {
  await started();
  const kept = new Set<Socket>();
  const bodies: string[] = [];
  const server = createHttp1({ keepAliveTimeout: 60_000 }, (request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.once("end", () => {
      if (body !== "") bodies.push(body);
      response.end("ok");
    });
  });
  server.on("connection", (socket) => kept.add(socket));
  await rig.serve(server);
  await known(rig, 1);
  const client = connect(rig.port, "127.0.0.1");
  onTestFinished(() => void client.destroy());
  await once(client, "connect");
  for (let each = 0; each < 20; each++) {
    await ask(rig.port);
    const answer = once(client, "data") as Promise<[Buffer]>;
    const isWhole = each % 2 === 0;
    client.write(
      "POST / HTTP/1.1\r\nhost: web.shop\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n" +
        (isWhole ? "0\r\n\r\n" : ""),
    );
    // The kernel then holds request and connection end before the dispatcher reads either.
    for (const socket of kept) socket.destroy();
    kept.clear();
    if (!isWhole) setImmediate(() => client.write("6\r\nsecond\r\n0\r\n\r\n"));
    expect((await answer)[0].toString()).toMatch(/^HTTP\/1.1 200 /);
  }
  expect(bodies).toEqual(Array.from({ length: 20 }, (_, each) => (each % 2 === 0 ? "first" : "firstsecond")));
  expect(await failureShare()).toBe(0);
});

function http2Server(handler: (stream: ServerHttp2Stream) => void): Http2Server {
  const server = createHttp2();
  server.on("sessionError", () => undefined);
  server.on("stream", (stream) => {
    stream.on("error", () => undefined);
    handler(stream);
  });
  return server;
}

function answers(stream: ServerHttp2Stream): void {
  stream.respond({ ":status": 200 });
  stream.resume();
  stream.end("ok");
}

describe("an HTTP/2 endpoint, the only one,", () => {
  test("that refuses a stream now and then costs no request its answer, whatever the method", async () => {
    await started("kubernetes.io/h2c");
    let streams = 0;
    await rig.serve(http2Server((stream) => (streams++ % 3 === 0 ? stream.close(7) : answers(stream))));
    await known(rig, 1);
    for (let each = 0; each < 30; each++)
      expect((await ask2(rig.port, { method: each % 2 === 0 ? "GET" : "POST" })).status).toBe(200);
    expect(await failureShare()).toBe(0);
    expect(await retries()).toMatchObject([{ labels: { fault: "refused_stream" } }]);
  });

  test.each([0, 11])(
    "that says GOAWAY (%d) gets what it hasn't begun with anew, and that alone",
    async (code) => {
      await started("kubernetes.io/h2c");
      let streams = 0;
      await rig.serve(
        http2Server((stream) => {
          const { id = 1, session } = stream;
          if (++streams % 10 !== 5) return answers(stream);
          session?.goaway(code, Math.max(0, id - 2));
          return undefined;
        }),
      );
      await known(rig, 1);
      for (let round = 0; round < 10; round++) {
        const statuses = await Promise.all(
          Array.from({ length: 10 }, async () => (await ask2(rig.port)).status),
        );
        expect(statuses.filter((status) => status !== 200)).toEqual([]);
      }
      const posts: number[] = [];
      for (let each = 0; each < 30; each++) posts.push((await ask2(rig.port, { method: "POST" })).status);
      expect(posts.filter((status) => status !== 200)).toEqual([]);
      expect(await failureShare()).toBe(0);
    },
  );

  test("that ends idle connections without a word costs GET nothing", async () => {
    await started("kubernetes.io/h2c");
    const sockets = new Set<Socket>();
    const used = new WeakSet<object>();
    const server = http2Server((stream) => {
      const { session } = stream;
      if (session === undefined || used.has(session)) {
        for (const socket of sockets) socket.destroy();
        return;
      }
      used.add(session);
      answers(stream);
    });
    server.on("connection", (socket: Socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    });
    await rig.serve(server);
    await known(rig, 1);
    for (let each = 0; each < 20; each++) expect((await ask2(rig.port)).status).toBe(200);
    expect(await failureShare()).toBe(0);
    expect(await retries()).toMatchObject([{ labels: { fault: "closed" } }]);
  });

  test("is sent nothing before its first frame, which says how many streams it takes", async () => {
    await started("kubernetes.io/h2c");
    const before: Buffer[] = [];
    let isGreeted = false;
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.on("data", (data) => {
        if (isGreeted) return;
        before.push(data);
        setImmediate(() =>
          setImmediate(() => {
            isGreeted = true;
            socket.write(EMPTY_SETTINGS);
          }),
        );
      });
    });
    await rig.serve(server);
    await vi.waitFor(async () => {
      const aborted = { headers: { "x-envoy-upstream-rq-timeout-ms": "300" } };
      expect((await ask2(rig.port, aborted)).status).toBe(504);
    });
    expect(frameTypes(Buffer.concat(before))).not.toContain(HEADERS);
  });
});

const PREFACE_BYTES = 24;
const FRAME_HEAD_BYTES = 9;
const HEADERS = 1;
const EMPTY_SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

function frameTypes(bytes: Buffer): number[] {
  const types: number[] = [];
  for (let at = PREFACE_BYTES; at < bytes.length; at += FRAME_HEAD_BYTES + bytes.readUIntBE(at, 3))
    types.push(bytes.readUInt8(at + 3));
  return types;
}

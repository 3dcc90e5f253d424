// Hostile requests and responses that try to crash or block the dispatcher.
import { once } from "node:events";
import { connect as connectHttp2, constants, type ClientHttp2Session } from "node:http2";
import { connect, createServer, type Socket } from "node:net";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ask, ask2 } from "./testing/client.ts";
import { after, Counted, known, load } from "./testing/counted.ts";
import { DispatchRig } from "./testing/dispatch-rig.ts";

let rig: DispatchRig;
afterEach(() => rig.stop());

type Fields = NonNullable<Parameters<DispatchRig["service"]>[1]>;

async function started(fields?: Fields, config?: Parameters<typeof startedRig>[0]): Promise<void> {
  rig = await startedRig(config);
  await rig.service("web", fields);
}

function startedRig(config: NonNullable<ConstructorParameters<typeof DispatchRig>[0]>["config"] = {}) {
  return new DispatchRig({ config }).start();
}

async function raw(): Promise<Socket> {
  const socket = connect(rig.port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

async function isServing(): Promise<void> {
  await vi.waitFor(async () => expect((await ask(rig.port)).status).toBe(200), { timeout: 10_000 });
}

async function answering(bytes: string): Promise<void> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(bytes));
  });
  await rig.serve(server);
}

const HOST = "host: web.shop\r\n";

describe("a request", () => {
  const NAMES = [
    "keep-alive",
    "connection",
    "upgrade",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "host",
  ];

  test.each(NAMES)("whose trailer is %s ends nothing", async (name) => {
    await started({ appProtocol: "kubernetes.io/h2c" });
    const { createServer: createHttp2 } = await import("node:http2");
    const received = Promise.withResolvers<object>();
    const server = createHttp2((request, response) => {
      request.resume();
      request.once("end", () => {
        received.resolve({ ...request.trailers });
        response.end("ok");
      });
    });
    await rig.serve(server);
    await vi.waitFor(async () => expect((await ask(rig.port)).status).toBe(200));
    const socket = await raw();
    socket.write(
      `POST / HTTP/1.1\r\n${HOST}content-type: application/grpc\r\ntransfer-encoding: chunked\r\n\r\n` +
        `2\r\nab\r\n0\r\n${name}: x\r\nx-kept: 1\r\n\r\n`,
    );
    expect(await received.promise).toBeDefined();
    await isServing();
  });
});

/** An HTTP/2 frame; fields are literals without an index. */
function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer | Record<string, string>,
): Buffer {
  const fields = Buffer.isBuffer(payload) ? [payload] : Object.entries(payload).map(literal);
  const body = Buffer.concat(fields);
  const head = Buffer.from([0, body.length >> 8, body.length & 255, type, flags, 0, 0, 0, stream]);
  return Buffer.concat([head, body]);
}

function literal([name, value]: readonly [string, string]): Buffer {
  return Buffer.from(
    `\0${String.fromCharCode(name.length)}${name}${String.fromCharCode(value.length)}${value}`,
  );
}

test("a client of HTTP/2 that resets what it wants to be told to go on with ends that stream alone", async () => {
  await started();
  await rig.endpoint((request, response) => void response.end("ok", () => request.resume()));
  await isServing();
  const head = { ":method": "POST", ":scheme": "http", ":path": "/", ":authority": "web.shop" };
  const socket = await raw();
  socket.write(
    Buffer.concat([
      Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
      frame(4, 0, 0, Buffer.alloc(0)),
      ...[1, 3, 5].flatMap((stream) => [
        frame(1, 4, stream, { ...head, expect: "100-continue" }),
        frame(3, 0, stream, Buffer.from([0, 0, 0, 8])),
      ]),
      frame(1, 5, 7, head),
    ]),
  );
  const said: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => said.push(chunk));
  await vi.waitFor(() => expect(Buffer.concat(said).includes("ok")).toBe(true));
  await isServing();
});

test.each(["P", "PR", "G", ""])("a connection that says %j and no more holds nothing up", async (start) => {
  await started();
  await rig.endpoint(after(0));
  await isServing();
  const socket = await raw();
  socket.write(start);
  await isServing();
  socket.resume().end();
  await new Promise((resolve) => socket.once("close", resolve));
  expect(socket.closed).toBe(true);
});

test("a WebSocket behind a request that waits for its answer ends that connection alone", async () => {
  await started();
  await rig.endpoint(after(20));
  await isServing();
  const socket = await raw();
  const upgrade = "connection: Upgrade\r\nupgrade: websocket\r\n";
  socket.write(`GET / HTTP/1.1\r\n${HOST}\r\nGET / HTTP/1.1\r\n${HOST}${upgrade}\r\n`);
  await new Promise((resolve) => socket.resume().once("close", resolve));
  await isServing();
  expect(socket.closed).toBe(true);
});

test("a body that is shorter than announced spoils no other request", async () => {
  await started();
  const urls: string[] = [];
  await rig.endpoint((request, response) => {
    urls.push(request.url ?? "");
    response.end();
  });
  await isServing();
  const upgrade = "connection: Upgrade\r\nupgrade: websocket\r\ncontent-length: 20\r\n";
  const socket = await raw();
  socket.end(`GET /short HTTP/1.1\r\n${HOST}${upgrade}\r\nab`);
  await new Promise((resolve) => socket.resume().once("close", resolve));
  for (let each = 0; each < 5; each++) await ask(rig.port, { path: "/next" });
  expect(urls.filter((url) => url === "/next").length).toBe(5);
});

test("the first bytes may come one by one", async () => {
  await started();
  await rig.endpoint(after(0));
  await isServing();
  for (const text of [
    `PUT / HTTP/1.1\r\n${HOST}content-length: 0\r\n\r\n`,
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  ]) {
    const socket = await raw();
    socket.setNoDelay(true);
    const answered = once(socket, "data");
    for (const byte of text) {
      socket.write(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (text.startsWith("PRI")) socket.write(Buffer.from("000000040000000000", "hex"));
    expect((await answered).length).toBe(1);
  }
});

describe("an answer", () => {
  const ANSWERS = {
    "101 unasked": "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "header te": "HTTP/1.1 200 OK\r\nte: gzip\r\nContent-Length: 2\r\n\r\nok",
    "trailer te":
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: te\r\n\r\n2\r\nok\r\n0\r\nte: gzip\r\n\r\n",
    "trailer of a connection":
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nkeep-alive: x\r\nupgrade: y\r\n\r\n",
    "status 99": "HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n",
    "status 999": "HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n",
    "two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
    "too short": "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok",
    "no HTTP": "220 mail ready\r\n",
  };

  describe.each(Object.entries(ANSWERS))("%s", (_, bytes) => {
    test.each([
      ["HTTP/1.1", ask],
      ["HTTP/2", ask2],
    ])("to a client of %s ends that exchange at most", async (_speech, asks) => {
      await started();
      await answering(bytes);
      await rig.service("other");
      await vi.waitFor(() => expect(settled(asks(rig.port, { path: "/again" }))).resolves.toBe("done"));
      for (let each = 0; each < 3; each++) await settled(asks(rig.port));
      await rig.endpoint(after(0), { service: "other" });
      await vi.waitFor(async () => expect((await asks(rig.port, { host: "other.shop" })).status).toBe(200));
    });
  });

  test("that is unexpected is told the client as a failure of the endpoint", async () => {
    await started();
    await answering(ANSWERS["101 unasked"]);
    await vi.waitFor(async () => expect((await ask(rig.port)).status).toBe(502));
    expect((await ask2(rig.port)).status).toBe(502);
  });
});

async function settled(answer: Promise<unknown>): Promise<string> {
  await Promise.allSettled([answer]);
  return "done";
}

describe("one client leaves the others their share:", () => {
  async function othersAreServed(): Promise<void> {
    const statuses = await load(rig, 100, 4);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(99);
  }

  test("of thousands of requests on one connection without a wait", async () => {
    await started({}, { maxInFlight: 200 });
    await rig.endpoint(after(20));
    await isServing();
    const greedy = [await raw(), await raw()];
    for (const socket of greedy) socket.write(`GET / HTTP/1.1\r\n${HOST}\r\n`.repeat(5_000));
    await Promise.all(greedy.map((socket) => new Promise((resolve) => socket.once("close", resolve))));
    const closed = await rig.metric("refused_total");
    expect(closed.find(({ labels }) => "reason" in labels && labels.reason === "pipelined")?.value).toBe(2);
    await othersAreServed();
  });

  test("of streams that never end", async () => {
    await started({}, { maxInFlight: 64 });
    const held = new Counted((request, response) => {
      if (request.method === "GET") response.end();
      else request.resume();
    });
    await rig.endpoint(held.listener);
    await isServing();
    const sessions: ClientHttp2Session[] = [];
    onTestFinished(() => sessions.forEach((session) => session.destroy()));
    let refused = 0;
    for (let each = 0; each < 4; each++) {
      const session = connectHttp2(`http://127.0.0.1:${rig.port}`, {
        createConnection: () => connect({ port: rig.port, host: "127.0.0.1", localAddress: "127.0.0.2" }),
      });
      session.on("error", () => undefined);
      sessions.push(session);
      for (let stream = 0; stream < 50; stream++) {
        const post = session.request({ ":method": "POST", ":authority": "web.shop" }, { endStream: false });
        post.on("error", () => undefined);
        post.once("response", (headers) => {
          if (Number(headers[constants.HTTP2_HEADER_STATUS]) === 503) refused++;
        });
      }
    }
    await vi.waitFor(() => expect(refused).toBe(200 - 32));
    await othersAreServed();
  });

  test("of idle connections", async () => {
    await started({}, { maxConnections: 50 });
    await rig.endpoint(after(1));
    await isServing();
    const sockets: Socket[] = [];
    onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
    for (let each = 0; each < 200; each++) {
      const socket = connect({ port: rig.port, host: "127.0.0.1", localAddress: "127.0.0.2" });
      socket.on("error", () => undefined);
      sockets.push(socket);
    }
    await vi.waitFor(() => expect(sockets.filter(({ closed }) => closed).length).toBe(150));
    await othersAreServed();
  });

  test("of headers", async () => {
    await started({}, { maxInFlight: 8_192 });
    const held = new Counted((request, response) => {
      if (request.url === "/") response.end();
    });
    await rig.endpoint(held.listener);
    await isServing();
    const greedy: Socket[] = [];
    const head = `GET /held HTTP/1.1\r\n${HOST}x-long: ${"a".repeat(15_000)}\r\n\r\n`;
    for (let each = 0; each < 600; each++) {
      const socket = connect({ port: rig.port, host: "127.0.0.1", localAddress: "127.0.0.2" });
      socket.on("error", () => undefined);
      socket.write(head);
      greedy.push(socket);
    }
    onTestFinished(() => greedy.forEach((socket) => socket.destroy()));
    const refusals = async (): Promise<number> =>
      (await rig.metric("refused_total")).find(
        ({ labels }) => "reason" in labels && labels.reason === "overloaded",
      )?.value ?? 0;
    // Half of 16 MiB of headers.
    await vi.waitFor(async () => expect(await refusals()).toBeGreaterThan(40), { timeout: 20_000 });
    await othersAreServed();
  });

  test("a client of HTTP/2 that ends its connection holds nothing", async () => {
    await started();
    await rig.endpoint(after(1));
    await isServing();
    const socket = await raw();
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    socket.write(Buffer.from("000000040000000000", "hex"));
    const open = async (): Promise<number> => (await rig.metric("connections"))[0]!.value;
    await once(socket, "data");
    expect(await open()).toBe(1);
    socket.end();
    await vi.waitFor(async () => expect(await open()).toBe(0));
  });
});

test("a client that speaks gRPC to a server of HTTP/1.1 doesn't make its endpoints look failed", async () => {
  await started();
  const counted = new Counted(after(1));
  await rig.endpoint(counted.listener);
  await isServing();
  for (let each = 0; each < 30; each++)
    await ask(rig.port, { method: "POST", body: "x", headers: { "content-type": "application/grpc" } });
  await isServing();
  const { tries } = rig.dispatcher.decisions("shop/web", 1)[0]!;
  expect(tries[0]!.failureShare).toBeLessThan(0.05);
});

test("dead endpoints of one Service leave the others their retries", async () => {
  await started();
  const closes = createServer((socket) => socket.destroy());
  await rig.serve(closes);
  await rig.endpoint(after(1));
  await rig.service("dead");
  for (let each = 0; each < 4; each++)
    await rig.serve(
      createServer((socket) => socket.destroy()),
      { service: "dead" },
    );
  await isServing();
  await known(rig, 2);
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const flood = (async (): Promise<void> => {
    while (!over.signal.aborted) await ask(rig.port, { host: "dead.shop" }).catch(() => undefined);
  })();
  const statuses = await load(rig, 40, 1);
  over.abort();
  await flood;
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
});

test("a thousand calls at once to a cold endpoint all find a place", async () => {
  await started({ appProtocol: "kubernetes.io/h2c" }, { connectTimeoutMs: 10_000 });
  const { createServer: createHttp2 } = await import("node:http2");
  await rig.serve(createHttp2((_, response) => void setTimeout(() => response.end("ok"), 20)));
  await vi.waitFor(async () => expect((await ask(rig.port)).status).not.toBe(404));
  const clients = Array.from({ length: 10 }, () => connectHttp2(`http://127.0.0.1:${rig.port}`));
  onTestFinished(() => clients.forEach((client) => client.destroy()));
  const statuses = await Promise.all(
    Array.from({ length: 1_000 }, async (_, each) => {
      const stream = clients[each % clients.length]!.request({ ":authority": "web.shop" });
      const [headers] = (await once(stream, "response")) as [{ readonly ":status": number }];
      stream.resume();
      return headers[":status"];
    }),
  );
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
});

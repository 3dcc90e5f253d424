// HTTP/2 of a server with TLS: what browsers and Go clients negotiate, and what hostile ones send.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import {
  connect as connectHttp2,
  constants,
  type ClientHttp2Session,
  type OutgoingHttpHeaders,
} from "node:http2";
import { request as httpsRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createRegistry } from "../metrics.ts";
import { systemClock } from "../system.ts";
import { TestAuthority, type TestCertificate } from "../testing/certificates.ts";
import { MemoryLogger } from "../testing/memory-logger.ts";
import { createHttpApp, listen, type HttpApp, type HttpAppOptions } from "./index.ts";

let folder: string;
let authority: TestAuthority;
let server: TestCertificate;
let client: TestCertificate;
let ca: string;
const cleanUps: (() => unknown)[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "isochrone-http2-"));
  authority = await TestAuthority.create(folder);
  server = await authority.issue("server", ["127.0.0.1", "localhost"]);
  client = await authority.issue("kube-scheduler");
  ca = await authority.ca();
});

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

interface Rig {
  readonly app: HttpApp;
  readonly port: number;
  /** Requests for /gated wait for the gate. */
  readonly gate: PromiseWithResolvers<void>;
  waiting(): number;
  metric(line: string): Promise<number>;
}

async function serve(options: Partial<HttpAppOptions> = {}, tls: object = {}): Promise<Rig> {
  const app = await createHttpApp({
    name: "test",
    logger: new MemoryLogger(),
    registry: createRegistry(),
    bodyLimitBytes: 1024 * 1024,
    ready: () => ({ ready: true, reasons: [] }),
    tls: { clock: systemClock, ...server, ...tls },
    closeDeadlineMs: 100,
    ...options,
  });
  const gate = Promise.withResolvers<void>();
  let waiting = 0;
  const gated = async (): Promise<{ done: true }> => {
    waiting++;
    await gate.promise;
    return { done: true };
  };
  app.get("/hello", (request) => ({ version: request.raw.httpVersion, host: request.headers.host }));
  app.get("/gated", gated);
  app.post("/gated", gated);
  app.post("/echo", (request) => ({ characters: JSON.stringify(request.body).length }));
  app.get("/large", () => ({ text: "x".repeat(4_000_000) }));
  app.post("/large", () => ({ text: "x".repeat(4_000_000) }));
  app.get("/elsewhere", (_request, reply) => reply.header("connection", "close").code(503).send({}));
  app.get("/events", { config: { isHeld: true } }, (_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, { "content-type": "text/event-stream" });
    const timer = setInterval(() => reply.raw.write("data: beat\n\n"), 20);
    reply.raw.on("close", () => clearInterval(timer));
  });
  const { port } = await listen(app, { host: "127.0.0.1", port: 0 });
  cleanUps.push(() => app.close());
  const metric = async (line: string): Promise<number> => {
    const { body } = await app.inject("/metrics");
    return Number(
      body
        .split("\n")
        .find((each) => each.startsWith(`${line} `))
        ?.slice(line.length) ?? 0,
    );
  };
  return { app, port, gate, waiting: () => waiting, metric };
}

function session({ port }: Rig, options: object = {}): ClientHttp2Session {
  const opened = connectHttp2(`https://127.0.0.1:${port}`, { ca, ...options });
  opened.on("error", () => undefined);
  cleanUps.push(() => opened.destroy());
  return opened;
}

function ask(over: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stream = over.request(headers, { endStream: body === undefined });
    let answer: Record<string, unknown> = {};
    let text = "";
    stream.on("response", (received) => (answer = { ...received }));
    stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    stream.on("end", () => resolve({ status: Number(answer[":status"]), headers: answer, body: text }));
    stream.on("error", reject);
    if (body !== undefined) stream.end(body);
  });
}

function askHttp1({ port }: Rig, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = httpsRequest({ host: "127.0.0.1", port, path, ca, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve(text));
    });
    sent.on("error", reject).end();
  });
}

const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await holds())) await systemClock.sleep(5);
};

/** Opens a connection that writes frames as they are given, without a client's manners. */
async function rawConnection({ port }: Rig): Promise<TLSSocket> {
  const socket = connect({ host: "127.0.0.1", port, ca, ALPNProtocols: ["h2"] });
  socket.on("error", () => undefined).resume();
  cleanUps.push(() => socket.destroy());
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  socket.write(frame(SETTINGS, 0, 0));
  return socket;
}

const [DATA, HEADERS, RST_STREAM, SETTINGS, PING, CONTINUATION] = [0, 1, 3, 4, 6, 9];
const [END_STREAM, END_HEADERS] = [1, 4];

function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** GET or POST of a path by https, in HPACK without compression. */
function headerBlock(method: "GET" | "POST", port: number, path: string): Buffer {
  const literal = (text: string): Buffer => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);
  return Buffer.concat([
    Buffer.from([method === "GET" ? 0x82 : 0x83, 0x87, 0x01]),
    literal(`127.0.0.1:${port}`),
    Buffer.from([0x04]),
    literal(path),
  ]);
}

describe("clients of both versions", () => {
  test("twenty event streams and requests share one HTTP/2 connection, beside clients of HTTP/1.1", async () => {
    const rig = await serve();
    const connections = { count: 0 };
    rig.app.server.on("secureConnection", () => connections.count++);
    const over = session(rig);
    const heard = Array.from({ length: 20 }, () => 0);
    for (const index of heard.keys())
      over.request({ ":path": "/events" }).on("data", () => (heard[index]! += 1));
    await until(() => heard.every((beats) => beats >= 2));
    const { body } = await ask(over, { ":path": "/hello" });
    expect(JSON.parse(body)).toEqual({ version: "2.0", host: `127.0.0.1:${rig.port}` });
    expect(connections.count).toBe(1);
    expect(JSON.parse(await askHttp1(rig, "/hello"))).toMatchObject({ version: "1.1" });
    const before = [...heard];
    await until(() => heard.every((beats, index) => beats > before[index]!));
  });

  test.each([
    [["h2"], "h2"],
    [["http/1.1"], "http/1.1"],
    [["h2", "http/1.1"], "h2"],
    [["http/1.1", "h2"], "h2"],
    [[], false],
  ])("a client that offers %j gets %j", async (offered, expected) => {
    const rig = await serve();
    const options = offered.length > 0 ? { ALPNProtocols: offered } : {};
    const socket = connect({ host: "127.0.0.1", port: rig.port, ca, ...options });
    cleanUps.push(() => socket.destroy());
    await new Promise((resolve) => socket.once("secureConnect", resolve));
    expect(socket.alpnProtocol).toBe(expected);
  });

  test("bodies of any declared length arrive, and those above the limit are refused", async () => {
    const rig = await serve();
    const over = session(rig);
    const post = { ":method": "POST", ":path": "/echo", "content-type": "application/json" };
    for (const size of [0, 10, 20_000, 900_000]) {
      const body = JSON.stringify("x".repeat(size));
      for (const length of [{}, { "content-length": body.length }]) {
        const answer = await ask(over, { ...post, ...length }, body);
        expect([size, answer.status, answer.body]).toEqual([size, 200, `{"characters":${size + 2}}`]);
      }
    }
    const tooLarge = JSON.stringify("x".repeat(2_000_000));
    for (const length of [{}, { "content-length": tooLarge.length }])
      expect((await ask(over, { ...post, ...length }, tooLarge)).status).toBe(413);
    expect((await ask(over, { ...post, expect: "100-continue" }, '"x"')).status).toBe(200);
  });

  test("an answer that asks for a new connection carries no connection header and ends the session", async () => {
    const rig = await serve();
    const over = session(rig);
    const held = ask(over, { ":path": "/gated" });
    await until(() => rig.waiting() === 1);
    const { status, headers } = await ask(over, { ":path": "/elsewhere" });
    expect([status, headers.connection]).toEqual([503, undefined]);
    await until(() => over.closed);
    rig.gate.resolve();
    expect((await held).status).toBe(200);
  });

  test("close lets an answer finish, and cuts the sessions that are left after the deadline", async () => {
    const rig = await serve({ closeDeadlineMs: 300 });
    const [idle, busy, streaming] = [session(rig), session(rig), session(rig)];
    await ask(idle, { ":path": "/hello" });
    const held = ask(busy, { ":path": "/gated" });
    const events = streaming.request({ ":path": "/events" });
    events.on("error", () => undefined);
    await new Promise((resolve) => events.once("data", resolve));
    await until(() => rig.waiting() === 1);
    const closed = rig.app.close();
    rig.gate.resolve();
    expect((await held).status).toBe(200);
    await closed;
    await until(() => idle.destroyed && busy.destroyed && streaming.destroyed);
  });
});

describe("guards see through HTTP/2", () => {
  test("a client certificate is asked for, and one that left unseen is not let in", async () => {
    const rig = await serve({}, { clientCaFile: authority.caFile });
    let handled = 0;
    rig.app.server.on("request", () => handled++);
    const without = await ask(session(rig), { ":path": "/hello" });
    expect([without.status, JSON.parse(without.body).code]).toEqual([401, "client_certificate"]);
    const keys = { cert: await readFile(client.certFile), key: await readFile(client.keyFile) };
    expect((await ask(session(rig, keys), { ":path": "/hello" })).status).toBe(200);
    for (let round = 0; round < 20; round++) {
      const socket = await rawConnection(rig);
      const headers = frame(HEADERS, END_HEADERS | END_STREAM, 1, headerBlock("POST", rig.port, "/gated"));
      socket.write(Buffer.concat([headers, frame(RST_STREAM, 0, 1, Buffer.alloc(4))]));
      socket.destroy();
    }
    expect((await ask(session(rig), { ":path": "/hello" })).status).toBe(401);
    expect(rig.waiting()).toBe(0);
  });

  test("foreign hosts and pages are refused by :authority as by Host", async () => {
    const rig = await serve();
    const over = session(rig);
    const codes = async (headers: OutgoingHttpHeaders): Promise<[number, unknown]> => {
      const { status, body } = await ask(over, { ":path": "/hello", ...headers });
      return [status, JSON.parse(body).code];
    };
    expect(await codes({ ":authority": "evil.example", host: `127.0.0.1:${rig.port}` })).toEqual([
      403,
      "foreign_host",
    ]);
    expect(await codes({ origin: "https://evil.example" })).toEqual([403, "foreign_origin"]);
    expect(await codes({ origin: `https://127.0.0.1:${rig.port}`, "sec-fetch-site": "same-origin" })).toEqual(
      [200, undefined],
    );
  });

  test("slow bodies on one connection end, whatever its other streams send", async () => {
    const rig = await serve({ bodyGraceMs: 200 });
    const over = session(rig);
    const post = { ":method": "POST", ":path": "/echo", "content-type": "application/json" };
    const slow = ["100", "100000", undefined].map((length) => {
      const stream = over.request({ ...post, ...(length === undefined ? {} : { "content-length": length }) });
      stream.on("error", () => undefined).write("{");
      return new Promise<number>((resolve) =>
        stream.once("response", (headers) => resolve(headers[":status"] ?? 0)),
      );
    });
    const answered = new AbortController();
    const busy = async (): Promise<void> => {
      while (!answered.signal.aborted) await ask(over, post, JSON.stringify("y".repeat(10_000)));
    };
    const beside = busy();
    expect(await Promise.all(slow)).toEqual([408, 408, 408]);
    answered.abort();
    await beside;
    expect(await rig.metric('isochrone_http_refused_total{server="test",reason="slow_body"}')).toBe(3);
  });

  test("one connection takes its client's share of places, and idle ones give way to newcomers", async () => {
    const rig = await serve({ maxConcurrentRequests: 6, maxConnections: 3 });
    const over = session(rig);
    const held = Array.from({ length: 3 }, () => ask(over, { ":path": "/gated" }));
    await until(() => rig.waiting() === 3);
    const refused = await ask(over, { ":path": "/hello" });
    expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "1"]);
    const idle = Array.from({ length: 6 }, () => session(rig));
    await until(() => idle.filter(({ destroyed }) => destroyed).length >= 4);
    expect(over.destroyed).toBe(false);
    rig.gate.resolve();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  test("places and body bytes are free after clients that leave in any way and at any time", async () => {
    let asked = 0;
    const gate = { check: async () => (asked++, await systemClock.sleep(30), null) };
    const rig = await serve({ gate, bodyBudgetBytes: 100_000 });
    const inFlight = (): Promise<number> => rig.metric('isochrone_http_requests_in_flight{server="test"}');
    const post = { ":method": "POST", ":path": "/gated", "content-type": "application/json" };
    for (const code of [
      constants.NGHTTP2_CANCEL,
      constants.NGHTTP2_PROTOCOL_ERROR,
      constants.NGHTTP2_NO_ERROR,
    ])
      for (const waits of [0, 10, 60]) {
        const over = session(rig);
        const before = asked;
        const streams = ["/gated", "/events", "/large"].map((path) => over.request({ ":path": path }));
        for (let count = 0; count < 5; count++) streams.push(over.request(post));
        streams.push(over.request({ ...post, ":path": "/large" }));
        streams.at(-1)!.end("{}");
        for (const stream of streams) stream.on("error", () => undefined);
        for (const stream of streams.slice(3, 8)) stream.write(`"${"x".repeat(10_000)}`);
        await until(() => asked >= before + 9 || waits === 0);
        await systemClock.sleep(waits);
        for (const stream of streams) stream.close(code);
        if (waits === 10) over.destroy();
      }
    rig.gate.resolve();
    await until(async () => (await inFlight()) === 0);
    expect(asked).toBeGreaterThanOrEqual(54);
    const whole = JSON.stringify("x".repeat(90_000));
    await until(async () => (await ask(session(rig), { ...post, ":path": "/echo" }, whole)).status === 200);
  });
});

describe("floods of frames", () => {
  test.each<[string, (port: number, turn: number) => Buffer]>([
    ["settings", () => frame(SETTINGS, 0, 0, Buffer.from([0, 3, 0, 0, 0, 100]))],
    ["pings", () => frame(PING, 0, 0, Buffer.alloc(8))],
    [
      "streams that are reset at once",
      (port, turn) =>
        Buffer.concat([
          frame(HEADERS, END_HEADERS | END_STREAM, turn * 2 + 1, headerBlock("GET", port, "/hello")),
          frame(RST_STREAM, 0, turn * 2 + 1, Buffer.from([0, 0, 0, 8])),
        ]),
    ],
    [
      "header blocks without an end",
      (port, turn) =>
        turn === 0
          ? frame(HEADERS, END_STREAM, 1, headerBlock("GET", port, "/hello"))
          : frame(CONTINUATION, 0, 1, Buffer.concat([Buffer.from([0, 1, 97, 100]), Buffer.alloc(100, 98)])),
    ],
    ["data of streams that do not exist", (_port, turn) => frame(DATA, 0, turn * 2 + 1, Buffer.alloc(10))],
  ])("a flood of %s ends its connection and no other", async (_name, next) => {
    const rig = await serve();
    const honest = session(rig);
    await ask(honest, { ":path": "/hello" });
    const flood = await rawConnection(rig);
    // An attacker does not read the answers, so that they pile up at the server.
    flood.pause();
    let turn = 0;
    while (!flood.destroyed && turn < 2_000_000) {
      const frames: Buffer[] = [];
      for (let each = 0; each < 500; each++) frames.push(next(rig.port, turn++));
      flood.write(Buffer.concat(frames));
      await ask(honest, { ":path": "/hello" });
      if (flood.writableLength > 1_000_000) flood.resume();
    }
    expect(flood.destroyed).toBe(true);
    expect((await ask(honest, { ":path": "/hello" })).status).toBe(200);
  });

  test("a connection is told its bounds", async () => {
    const rig = await serve();
    const over = session(rig);
    await ask(over, { ":path": "/hello" });
    expect(over.remoteSettings).toMatchObject({ maxConcurrentStreams: 128, maxHeaderListSize: 16_384 });
  });
});

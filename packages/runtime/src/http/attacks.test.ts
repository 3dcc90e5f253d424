// Denial of service against other clients, over real sockets. Every loopback address 127.0.0.x is a client of
// its own.
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { createRegistry } from "../metrics.ts";
import { MemoryLogger } from "../testing/index.ts";
import { createHttpApp, listen, type HttpApp, type HttpAppOptions, type RequestGate } from "./index.ts";

const ATTACKER = "127.0.0.66";
const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Asked {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly from?: string;
}

class Rig {
  readonly app: HttpApp;
  readonly port: number;
  waiting = 0;
  readonly gate = Promise.withResolvers<void>();

  constructor(app: HttpApp, port: number) {
    this.app = app;
    this.port = port;
  }

  ask(path: string, { method = "GET", headers = {}, body, from }: Asked = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const { port } = this;
      const options = { host: "127.0.0.1", port, path, method, headers, agent: false, localAddress: from };
      const request = httpRequest(options, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
        );
        response.on("error", reject);
      });
      request.on("error", reject);
      request.end(body);
    });
  }

  async open(text: string, from = ATTACKER): Promise<Held> {
    const socket = connect({ host: "127.0.0.1", port: this.port, localAddress: from });
    const held = new Held(socket);
    cleanUps.push(() => socket.destroy());
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
    if (text !== "") socket.write(text);
    return held;
  }

  post(bytes: number): string {
    return `POST /echo HTTP/1.1\r\nhost: 127.0.0.1:${this.port}\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n`;
  }

  async refused(reason: string): Promise<number> {
    const { body } = await this.ask("/metrics");
    const line = new RegExp(
      `^isochrone_http_refused_total\\{server="test",reason="${reason}"\\} (\\d+)$`,
      "m",
    );
    return Number(line.exec(body)?.[1] ?? 0);
  }
}

class Held {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  isClosed = false;
  received = "";

  constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => {
      socket.once("close", () => {
        this.isClosed = true;
        resolve();
      });
    });
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => (this.received += chunk.toString()));
  }
}

async function start(options: Partial<HttpAppOptions> = {}, host = "127.0.0.1"): Promise<Rig> {
  const app = await createHttpApp({
    name: "test",
    logger: new MemoryLogger(),
    registry: createRegistry(),
    bodyLimitBytes: 1024 * 1024,
    ready: () => ({ ready: true, reasons: [] }),
    closeDeadlineMs: 100,
    ...options,
  });
  app.get("/secret", () => ({ secret: 42 }));
  app.post("/echo", (request) => ({ characters: JSON.stringify(request.body).length }));
  let rig: Rig | undefined;
  const gated = async (): Promise<{ done: true }> => {
    rig!.waiting++;
    await rig!.gate.promise;
    return { done: true };
  };
  app.get("/gated", gated);
  app.post("/gated", gated);
  const { port } = await listen(app, { host, port: 0 });
  cleanUps.push(() => app.close());
  return (rig = new Rig(app, port));
}

const until = async (check: () => boolean): Promise<void> => {
  while (!check()) await new Promise((resolve) => setImmediate(resolve));
};

describe("DNS rebinding and foreign pages", () => {
  test("a server on a loopback address answers by its own names and port only, whatever is asked", async () => {
    const rig = await start();
    for (const host of ["127.0.0.1", "localhost", "LOCALHOST", "127.9.9.9", "[::1]"])
      expect([host, (await rig.ask("/secret", { headers: { host: `${host}:${rig.port}` } })).status]).toEqual(
        [host, 200],
      );
    const foreign = [`evil.example:${rig.port}`, "evil.example", "localhost", `localhost:${rig.port + 1}`];
    for (const host of [...foreign, `localhost.evil.example:${rig.port}`, `10.0.0.1:${rig.port}`, "a b", "["])
      for (const path of ["/secret", "/metrics", "/healthz", "/nowhere"])
        expect([host, path, (await rig.ask(path, { headers: { host } })).status]).toEqual([host, path, 403]);
    const { body } = await rig.ask("/secret", { headers: { host: "evil.example:80" } });
    expect(JSON.parse(body)).toMatchObject({
      code: "foreign_host",
      detail: `Host must be localhost or a loopback address with port ${rig.port}, as this server listens on a loopback address, got "evil.example:80"; allow a name with a setting of allowed hosts, which this server has none of`,
    });
    expect(await rig.refused("foreign_host")).toBe(33);
  });

  test("names that were announced are answered, with the port that was said or any", async () => {
    const hosts = ["Isochrone.test", "proxy.test:9000"];
    const rig = await start({ allowedHosts: { hosts, setting: "test.allowedHosts" } });
    const statusBy = async (host: string) => (await rig.ask("/secret", { headers: { host } })).status;
    expect(await statusBy("isochrone.test")).toBe(200);
    expect(await statusBy("isochrone.test:1234")).toBe(200);
    expect(await statusBy("proxy.test:9000")).toBe(200);
    expect(await statusBy("proxy.test:9001")).toBe(403);
    const { body } = await rig.ask("/secret", { headers: { host: "other.test" } });
    expect(JSON.parse(body).detail).toContain("allow a name with test.allowedHosts");
  });

  test("a foreign page reads nothing and changes nothing on a loopback address, and a link to it works", async () => {
    const rig = await start();
    const own = `http://127.0.0.1:${rig.port}`;
    const status = async (headers: Record<string, string>, method = "GET") =>
      (await rig.ask(method === "GET" ? "/secret" : "/echo", { headers, method })).status;
    expect(await status({ origin: own })).toBe(200);
    expect(await status({ origin: own, "sec-fetch-site": "same-origin" })).toBe(200);
    expect(await status({ "sec-fetch-site": "none" })).toBe(200);
    for (const origin of [
      "http://evil.example",
      "null",
      "http://127.0.0.1:1",
      "x",
      `http://localhost:${rig.port}`,
    ])
      expect([origin, await status({ origin })]).toEqual([origin, 403]);
    expect(await status({ "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" })).toBe(403);
    expect(await status({ "sec-fetch-site": "same-site", origin: "http://127.0.0.1:3000" })).toBe(403);
    const visit = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
    expect(await status({ ...visit, "sec-fetch-dest": "document" })).toBe(200);
    expect(await status({ ...visit, "sec-fetch-dest": "iframe" })).toBe(403);
    expect(await status({ ...visit, "sec-fetch-dest": "document", origin: "null" }, "POST")).toBe(403);
    expect(await rig.refused("foreign_origin")).toBe(9);
  });

  test("on other addresses names are free, and only what would change something is asked where it comes from", async () => {
    const rig = await start({}, "0.0.0.0");
    const headers = { host: "aggregator.isochrone.svc", "content-type": "application/json" };
    const evil = { ...headers, origin: "https://evil.example" };
    expect((await rig.ask("/secret", { headers: evil })).status).toBe(200);
    const post = (more: Record<string, string>) =>
      rig.ask("/echo", { method: "POST", headers: more, body: "{}" });
    expect((await post(headers)).status).toBe(200);
    expect((await post({ ...headers, origin: "https://aggregator.isochrone.svc" })).status).toBe(200);
    expect((await post({ ...evil, "sec-fetch-site": "same-origin" })).status).toBe(200);
    expect((await post(evil)).status).toBe(403);
    expect((await post({ ...headers, "sec-fetch-site": "cross-site" })).status).toBe(403);
  });

  test("no answer allows another origin, and content types hold", async () => {
    const rig = await start();
    const { headers } = await rig.ask("/secret");
    expect(Object.keys(headers).filter((name) => name.startsWith("access-control-"))).toEqual([]);
    expect(headers["x-content-type-options"]).toBe("nosniff");
  });
});

describe("slow and idle connections", () => {
  test("bodies that come a byte at a time take no place, are ended, and others are answered meanwhile", async () => {
    const rig = await start({ maxConcurrentRequests: 8, bodyGraceMs: 300 });
    const slow = await Promise.all(Array.from({ length: 100 }, () => rig.open(`${rig.post(1000)}{`)));
    const dripping = setInterval(() => {
      for (const { socket } of slow) if (socket.writable) socket.write(" ");
    }, 20);
    cleanUps.push(() => clearInterval(dripping));
    for (let asked = 0; asked < 20; asked++) expect((await rig.ask("/secret")).status).toBe(200);
    await Promise.all(slow.map(({ closed }) => closed));
    for (const { received } of slow) {
      expect(received).toMatch(/^HTTP\/1\.1 408 /);
      expect(received).toContain("a body must arrive within 300 ms and at 4096 bytes/s beyond, got ");
    }
    expect(await rig.refused("slow_body")).toBe(100);
  });

  test("beyond the most connections the longest idle one of the client with the most closes, and newcomers are served", async () => {
    const rig = await start({ maxConnections: 20 });
    const page = await rig.open("", "127.0.0.2");
    const idle: Held[] = [];
    for (let count = 0; count < 60; count++) idle.push(await rig.open(""));
    await until(() => idle.filter(({ isClosed }) => isClosed).length >= 41);
    for (let asked = 0; asked < 30; asked++) expect((await rig.ask("/secret")).status).toBe(200);
    expect(page.isClosed).toBe(false);
    expect(idle.findLastIndex(({ isClosed }) => isClosed)).toBeLessThan(
      idle.filter(({ isClosed }) => isClosed).length,
    );
    expect(await rig.refused("connection_closed")).toBeGreaterThanOrEqual(41);
    page.socket.write(`GET /secret HTTP/1.1\r\nhost: 127.0.0.1:${rig.port}\r\n\r\n`);
    await until(() => page.received.includes('{"secret":42}'));
  });

  test("a connection whose request is under way is not closed for newcomers, one with half a request is", async () => {
    const rig = await start({ maxConnections: 4 });
    const working = rig.ask("/gated", { from: ATTACKER });
    await until(() => rig.waiting === 1);
    const half = await rig.open(`${rig.post(100)}{`);
    for (let count = 0; count < 8; count++) await rig.open("GET /secret HTTP/1.1\r\n");
    await half.closed;
    rig.gate.resolve();
    expect((await working).status).toBe(200);
  });

  test("one client takes half of the places at most, and health and metrics answer beside", async () => {
    const rig = await start({ maxConcurrentRequests: 6 });
    const held = Array.from({ length: 3 }, () => rig.ask("/gated", { from: ATTACKER }));
    await until(() => rig.waiting === 3);
    const fourth = await rig.ask("/secret", { from: ATTACKER });
    expect([fourth.status, fourth.headers["retry-after"]]).toEqual([503, "1"]);
    expect(JSON.parse(fourth.body).detail).toBe("too many requests of this client are under way");
    expect((await rig.ask("/secret")).status).toBe(200);
    for (const path of ["/healthz", "/readyz", "/metrics"])
      expect((await rig.ask(path, { from: ATTACKER })).status).toBe(200);
    expect(await rig.refused("client_share")).toBe(1);
    rig.gate.resolve();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  test("clients that leave while a gate is asked about them hold no place", async () => {
    const answer = Promise.withResolvers<null>();
    let asked = 0;
    const rig = await start({ gate: { check: () => (asked++, answer.promise) } });
    const left = await Promise.all(
      ["GET /gated", "POST /gated"].map((path) =>
        rig.open(`${path} HTTP/1.1\r\nhost: 127.0.0.1:${rig.port}\r\n\r\n`),
      ),
    );
    await until(() => asked === 2);
    for (const { socket } of left) socket.destroy();
    await Promise.all(left.map(({ closed }) => closed));
    // The server reads the ends of those connections before it answers this one.
    expect((await rig.ask("/healthz")).status).toBe(200);
    answer.resolve(null);
    expect((await rig.ask("/secret")).status).toBe(200);
    const { body } = await rig.ask("/metrics");
    expect(body).toContain('isochrone_http_requests_in_flight{server="test"} 0');
    expect(rig.waiting).toBe(0);
  });

  test("a client that has proven who it is has a share of its own, wherever its requests come from", async () => {
    const gate: RequestGate = {
      check: ({ authorization = "" }) => ({
        principal: {
          user: "probe",
          node: "n1",
          pod: { namespace: "x", name: authorization, uid: authorization },
        },
      }),
    };
    const rig = await start({ maxConcurrentRequests: 6, gate });
    const as = (name: string, from?: string): Asked => ({
      headers: { authorization: name },
      ...(from === undefined ? {} : { from }),
    });
    const held = [ATTACKER, "127.0.0.67", "127.0.0.68"].map((from) => rig.ask("/gated", as("greedy", from)));
    await until(() => rig.waiting === 3);
    expect((await rig.ask("/secret", as("greedy", "127.0.0.69"))).status).toBe(503);
    // Behind the same proxy, of the same account.
    expect((await rig.ask("/secret", as("other", ATTACKER))).status).toBe(200);
    rig.gate.resolve();
    await Promise.all(held);
  });
});

describe("bytes of bodies", () => {
  const BUDGET = 256 * 1024;

  test("all bodies together stay within the budget: the largest of the client with the most gives way", async () => {
    const rig = await start({ bodyBudgetBytes: BUDGET });
    const floods = await Promise.all(
      Array.from({ length: 20 }, () => rig.open(`${rig.post(1_000_000)}"${"x".repeat(100_000)}`)),
    );
    const padding = "y".repeat(50_000);
    const honest = await rig.ask("/echo", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(padding),
    });
    expect([honest.status, JSON.parse(honest.body)]).toEqual([200, { characters: 50_002 }]);
    await until(() => floods.filter(({ received }) => received !== "").length >= 18);
    for (const { received } of floods.filter((each) => each.received !== "")) {
      expect(received).toMatch(/^HTTP\/1\.1 503 /);
      expect(received.toLowerCase()).toContain("retry-after: 1");
      expect(received).toContain("request bodies in progress exceed the memory limit");
    }
    expect(await rig.refused("body_budget")).toBeGreaterThanOrEqual(18);
  });

  test("a small body counts from its arrival until its answer has left", async () => {
    const rig = await start({ bodyBudgetBytes: 30_000 });
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify("z".repeat(12_000));
    const held = Array.from({ length: 2 }, () => rig.ask("/gated", { method: "POST", headers, body }));
    await until(() => rig.waiting === 2);
    const announced = await rig.open(`${rig.post(12_000)}"`);
    expect((await rig.ask("/echo", { method: "POST", headers, body: '"short"' })).status).toBe(200);
    expect((await rig.ask("/echo", { method: "POST", headers, body })).status).toBe(503);
    rig.gate.resolve();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200]);
    expect((await rig.ask("/echo", { method: "POST", headers, body })).status).toBe(200);
    announced.socket.destroy();
  });

  test("what bodies held is free again after answers, refusals and clients that leave", async () => {
    const rig = await start({ bodyBudgetBytes: BUDGET });
    const headers = { "content-type": "application/json" };
    const large = JSON.stringify("z".repeat(BUDGET - 1000));
    for (let round = 0; round < 5; round++) {
      const left = await rig.open(`${rig.post(900_000)}"${"x".repeat(200_000)}`);
      left.socket.destroy();
      await left.closed;
      expect((await rig.ask("/echo", { method: "POST", headers, body: `{${large}` })).status).toBe(400);
      const answer = await rig.ask("/echo", { method: "POST", headers, body: large });
      expect(answer.status).toBe(200);
    }
  });
});

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { PassThrough, Readable } from "node:stream";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ask, ask2 } from "./testing/client.ts";
import { DispatchRig } from "./testing/dispatch-rig.ts";

let rig: DispatchRig;
afterEach(() => rig.stop());

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

const says =
  (text: string): Listener =>
  (request, response) => {
    request.resume();
    response.end(text);
  };

const echoes: Listener = (request, response) => {
  response.setHeader("x-method", request.method ?? "");
  response.setHeader("x-head", JSON.stringify(request.headers));
  request.pipe(response);
};

async function started(options?: ConstructorParameters<typeof DispatchRig>[0]): Promise<DispatchRig> {
  rig = await new DispatchRig(options).start();
  return rig;
}

async function ready(): Promise<void> {
  await vi.waitFor(async () => expect((await ask(rig.port)).status).not.toBe(404));
}

async function counted(name: string, labels: object): Promise<number> {
  const values = await rig.metric(name);
  return values.find((each) => JSON.stringify(each.labels) === JSON.stringify(labels))?.value ?? 0;
}

describe("a request", () => {
  test("reaches the endpoint of the Service that its host names, with its body, and the answer comes back", async () => {
    await started();
    await rig.service("web");
    await rig.endpoint(echoes);
    await ready();
    const answer = await ask(rig.port, {
      method: "POST",
      path: "/things?a=1",
      host: "web.shop.svc.cluster.local:80",
      headers: { "x-mine": "yes", connection: "close, x-hop", "x-hop": "1", "content-length": 5 },
      body: "hello",
    });
    expect(answer).toMatchObject({ status: 200, body: "hello" });
    expect(answer.headers["x-method"]).toBe("POST");
    const head = JSON.parse(String(answer.headers["x-head"])) as Record<string, string>;
    expect(head).toMatchObject({
      host: "web.shop.svc.cluster.local:80",
      "x-mine": "yes",
      "content-length": "5",
      "isochrone-hops": "shop/web",
    });
    expect(head).not.toHaveProperty("x-hop");
  });

  test("may name the Service as a client of a proxy does", async () => {
    await started();
    await rig.service("web");
    await rig.endpoint((request, response) => response.end(request.url));
    await ready();
    expect(await ask(rig.port, { path: "http://web.shop/a?b", host: "elsewhere" })).toMatchObject({
      status: 200,
      body: "/a?b",
    });
    expect(await ask(rig.port, { method: "PUT", path: "*" })).toMatchObject({ status: 200 });
  });

  test.each([
    ["an unknown host", { host: "example.com" }, 404, "unknown_service"],
    ["an address", { host: "10.0.0.1:80" }, 404, "unknown_service"],
    ["a Service that doesn't ask for it", { host: "db.shop" }, 404, "unknown_service"],
    ["a port that the Service doesn't have", { host: "web.shop:81" }, 404, "unknown_service"],
    ["a target that is none", { path: "ftp://web.shop/" }, 400, "bad_request"],
    ["one that has been here already", { headers: { "isochrone-hops": "shop/api, shop/web" } }, 508, "loop"],
  ])("for %s is refused with the reason", async (_name, asked, status, reason) => {
    await started();
    await rig.service("web");
    await rig.endpoint(says("web"));
    await rig.store.create({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "db", namespace: "shop" },
      spec: { clusterIP: "10.0.0.2", ports: [{ port: 80 }] },
    } as never);
    await ready();
    const answer = await ask(rig.port, asked);
    expect([answer.status, answer.headers["isochrone-reason"]]).toEqual([status, reason]);
    expect(await counted("refused_total", { reason })).toBe(1);
  });

  test("for a Service without endpoints is refused, and served once there is one", async () => {
    await started();
    await rig.service("web");
    await ready();
    expect(await ask(rig.port)).toMatchObject({
      status: 503,
      headers: { "isochrone-reason": "no_endpoints" },
    });
    await rig.endpoint(says("ending"), { conditions: { ready: false, serving: true, terminating: true } });
    await vi.waitFor(async () => expect((await ask(rig.port)).body).toBe("ending"));
    await rig.endpoint(says("ready"));
    await vi.waitFor(async () => expect((await ask(rig.port)).body).toBe("ready"));
  });

  test("that two dispatchers would hand to each other ends", async () => {
    await started();
    const other = await new DispatchRig().start();
    try {
      for (const each of [rig, other]) await each.service("web");
      await rig.slice("to-other", other.port);
      await other.slice("to-first", rig.port);
      await vi.waitFor(async () => {
        for (const each of [rig, other])
          expect(await ask(each.port)).toMatchObject({
            status: 508,
            headers: { "isochrone-reason": "loop" },
          });
      });
    } finally {
      await other.stop();
    }
  });
});

describe("a deadline", () => {
  const hangs: Listener = () => undefined;

  test.each([
    ["grpc-timeout", "50m"],
    ["x-envoy-upstream-rq-timeout-ms", "50"],
  ])("of %s ends the request with the reason", async (name, value) => {
    await started();
    await rig.service("web");
    let isGone = false;
    await rig.endpoint((request) => request.once("close", () => (isGone = true)));
    await vi.waitFor(async () =>
      expect(await ask(rig.port, { headers: { [name]: value } })).toMatchObject({
        status: 504,
        headers: { "isochrone-reason": "deadline" },
      }),
    );
    await vi.waitFor(() => expect(isGone).toBe(true));
  });

  test.each([
    ["negative", "-5S"],
    ["no number", "NaN"],
    ["without a unit", "5"],
    ["too long a number", "999999999999S"],
  ])("that is %s is passed over, and counted", async (_name, value) => {
    await started();
    await rig.service("web", { annotations: { "isochrone.dev/deadline": "5s" } });
    await rig.endpoint(echoes);
    await ready();
    expect(await ask(rig.port, { headers: { "grpc-timeout": value } })).toMatchObject({ status: 200 });
    expect(await counted("malformed_deadlines_total", {})).toBe(1);
    await vi.waitFor(() =>
      expect(rig.dispatcher.decisions("shop/web", 1)[0]).toMatchObject({
        leftMs: 5_000,
        deadlineFrom: "annotation",
        outcome: "in_time",
      }),
    );
  });

  test("of hours is none, and one that is over before it begins is refused", async () => {
    await started();
    await rig.service("web");
    await rig.endpoint(says("web"));
    await ready();
    expect(await ask(rig.port, { headers: { "grpc-timeout": "9999H" } })).toMatchObject({ status: 200 });
    expect(rig.dispatcher.decisions(null, 10).every(({ leftMs }) => leftMs === null)).toBe(true);
    await rig.store.delete({ apiVersion: "v1", kind: "Service", name: "web", namespace: "shop" });
    await rig.service("slow");
    await rig.endpoint(hangs, { service: "slow" });
    const asked = { host: "slow.shop", headers: { "grpc-timeout": "1n" } };
    await vi.waitFor(async () => expect(await ask(rig.port, asked)).toMatchObject({ status: 504 }));
  });

  test("is told to the endpoint as what is left", async () => {
    await started();
    await rig.service("web");
    await rig.endpoint((request, response) => response.end(request.headers["grpc-timeout"]));
    await ready();
    const { body } = await ask(rig.port, { headers: { "grpc-timeout": "2S" } });
    expect(body).toMatch(/^1\d{6}u$/);
  });

  test("of the annotation ends nothing: a late answer is better than none", async () => {
    await started();
    await rig.service("web", { annotations: { "isochrone.dev/deadline": "1ms" } });
    await rig.endpoint((_request, response) => void setTimeout(() => response.end("late"), 20));
    await ready();
    expect(await ask(rig.port)).toMatchObject({ status: 200, body: "late" });
    await vi.waitFor(() => expect(rig.dispatcher.decisions(null, 1)[0]).toMatchObject({ outcome: "late" }));
  });
});

describe("a body", () => {
  test("is streamed both ways at once, and waits for who reads slowly", async () => {
    await started();
    await rig.service("web");
    await rig.endpoint(echoes);
    await ready();
    let made = 0;
    const chunk = "x".repeat(65_536);
    const endless = new Readable({
      read() {
        made++;
        this.push(chunk);
      },
    });
    const socket = connect(rig.port, "127.0.0.1");
    await once(socket, "connect");
    socket.pause();
    socket.write("POST / HTTP/1.1\r\nhost: web.shop\r\ntransfer-encoding: chunked\r\n\r\n");
    const encoded = new PassThrough();
    endless.on("data", (data: Buffer) => {
      if (!encoded.write(`${data.length.toString(16)}\r\n${data.toString()}\r\n`)) {
        endless.pause();
        encoded.once("drain", () => endless.resume());
      }
    });
    encoded.pipe(socket);
    await vi.waitFor(
      async () => {
        const before = made;
        await new Promise((resolve) => setTimeout(resolve, 300));
        expect(made).toBe(before);
      },
      { timeout: 20_000 },
    );
    const stalledAt = made;
    expect(stalledAt).toBeGreaterThan(1);
    socket.resume();
    await vi.waitFor(() => expect(made).toBeGreaterThan(stalledAt + 20), { timeout: 20_000 });
    endless.destroy();
    socket.destroy();
    await vi.waitFor(async () => expect((await rig.metric("in_flight"))[0]!.value).toBe(0));
  }, 60_000);

  test("that the endpoint breaks off doesn't look whole", async () => {
    await started();
    await rig.service("web");
    await rig.endpoint((_request, response) => {
      response.write("half");
      setTimeout(() => response.destroy(), 20);
    });
    await vi.waitFor(() => expect(ask(rig.port)).rejects.toThrow(/aborted|hang up|ECONNRESET/));
    await expect(ask2(rig.port)).rejects.toThrow(/INTERNAL_ERROR/);
  });

  test("that the endpoint answers before its end holds no connection to it", async () => {
    await started();
    await rig.service("web");
    const closed = Promise.withResolvers<void>();
    await rig.endpoint((request, response) => {
      if (request.method === "GET") return void response.end();
      request.on("error", () => undefined);
      request.socket.once("close", () => closed.resolve());
      request.resume();
      response.writeHead(413, { "content-length": 0 }).end();
      return undefined;
    });
    await ready();
    const socket = connect(rig.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write("POST / HTTP/1.1\r\nhost: web.shop\r\ncontent-length: 100000\r\n\r\nstart");
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 413 /);
    await closed.promise;
    socket.destroy();
  });

  test("of a client that goes away is no request of the endpoint any more", async () => {
    await started();
    await rig.service("web");
    const begun = Promise.withResolvers<IncomingMessage>();
    await rig.endpoint((request, response) => {
      if (request.method === "POST") begun.resolve(request);
      else response.end();
    });
    await ready();
    const socket = connect(rig.port, "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nhost: web.shop\r\ncontent-length: 100\r\n\r\nstart");
    const request = await begun.promise;
    const ended = once(request.resume(), "end");
    socket.destroy();
    await expect(ended).rejects.toThrow("aborted");
    await vi.waitFor(async () =>
      expect(await counted("requests_total", { service: "shop/web", outcome: "abandoned" })).toBe(1),
    );
  });
});

test("requests that are no HTTP are answered, and break nothing", async () => {
  await started();
  await rig.service("web");
  await rig.endpoint(says("web"));
  await ready();
  for (const text of [
    "\u0000\u0001\u0002\r\n\r\n",
    "PRI nonsense\r\n\r\n",
    "GET / HTTP/1.1\r\nhost: web.shop\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n",
    "GET / HTTP/1.1\r\n\r\n",
    `GET / HTTP/1.1\r\nhost: web.shop\r\nx: ${"y".repeat(20_000)}\r\n\r\n`,
  ]) {
    const socket = connect(rig.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.end(text);
    await once(socket.resume(), "close");
  }
  expect(await ask(rig.port)).toMatchObject({ status: 200 });
});

test("a dispatcher that stops ends what is under way, and takes nothing new", async () => {
  await started();
  await rig.service("web");
  const begun = Promise.withResolvers<ServerResponse>();
  await rig.endpoint((request, response) => {
    if (request.url === "/slow") begun.resolve(response);
    else response.end();
  });
  await ready();
  const { port } = rig;
  const slow = ask(port, { path: "/slow" });
  const response = await begun.promise;
  const stopped = rig.dispatcher.stop();
  await vi.waitFor(() => expect(ask(port)).rejects.toThrow(/ECONNREFUSED/));
  response.end("done");
  expect(await slow).toMatchObject({ status: 200, body: "done", headers: { connection: "close" } });
  await stopped;
});

test("more requests than may be under way are refused, and of more connections the longest idle is closed", async () => {
  await started({ config: { maxInFlight: 1, maxConnections: 2 } });
  await rig.service("web");
  const begun = Promise.withResolvers<ServerResponse>();
  await rig.endpoint((request, response) => {
    if (request.url === "/slow") begun.resolve(response);
    else response.end();
  });
  await ready();
  const slow = ask(rig.port, { path: "/slow" });
  const response = await begun.promise;
  expect(await ask(rig.port)).toMatchObject({ status: 503, headers: { "isochrone-reason": "overloaded" } });
  const idle = connect(rig.port, "127.0.0.1");
  idle.on("error", () => undefined);
  await once(idle, "connect");
  const closed = once(idle, "close");
  expect(await ask(rig.port)).toMatchObject({ status: 503 });
  await closed;
  response.end();
  expect(await slow).toMatchObject({ status: 200 });
});

test("a port in use is named with its setting", async () => {
  const server = createServer();
  rig = new DispatchRig();
  const port = await rig.listen(server);
  const second = new DispatchRig({ config: { port } });
  await expect(second.start()).rejects.toThrow(/EADDRINUSE; choose another with the setting dispatcher.port/);
});

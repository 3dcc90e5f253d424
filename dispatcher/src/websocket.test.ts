import { once } from "node:events";
import { createServer, request, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { ask } from "./testing/client.ts";
import { DispatchRig } from "./testing/dispatch-rig.ts";

let rig: DispatchRig;
afterEach(() => rig.stop());

const WEBSOCKET = { connection: "keep-alive, Upgrade", upgrade: "WebSocket", "sec-websocket-key": "a2V5" };

async function echoing(): Promise<{ readonly sockets: Socket[]; readonly heads: IncomingMessage[] }> {
  const seen = { sockets: [] as Socket[], heads: [] as IncomingMessage[] };
  const server = createServer((_incoming, response) => response.end("plain"));
  server.on("upgrade", (incoming, socket: Socket) => {
    seen.heads.push(incoming);
    seen.sockets.push(socket);
    socket.on("error", () => undefined);
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: yes\r\n\r\nhello ",
    );
    socket.pipe(socket);
  });
  await rig.serve(server);
  return seen;
}

interface Opened {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly socket: Socket | null;
  readonly text: () => string;
}

function open(headers: object = WEBSOCKET): Promise<Opened> {
  return new Promise((resolve, reject) => {
    let text = "";
    const sent = request({
      host: "127.0.0.1",
      port: rig.port,
      path: "/chat",
      headers: { ...headers, host: "web.shop" },
      agent: false,
    });
    sent.once("error", reject);
    sent.once("upgrade", (answer, socket: Socket, head) => {
      text += head.toString();
      socket.on("data", (data: Buffer) => (text += data.toString()));
      socket.on("error", () => undefined);
      onTestFinished(() => void socket.destroy());
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, socket, text: () => text });
    });
    sent.once("response", (answer) => {
      answer.on("data", (data: Buffer) => (text += data.toString()));
      answer.once("end", () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, socket: null, text: () => text }),
      );
    });
    sent.end();
  });
}

async function started(fields: Parameters<DispatchRig["service"]>[1] = {}): Promise<void> {
  rig = await new DispatchRig().start();
  await rig.service("web", fields);
}

async function ready(): Promise<void> {
  await vi.waitFor(async () => expect((await ask(rig.port)).status).toBe(200));
}

const inFlight = async (): Promise<number> => (await rig.metric("in_flight"))[0]!.value;

test("a WebSocket passes both ways, counts while it is open, and ends with either side", async () => {
  await started();
  const { sockets, heads } = await echoing();
  await ready();
  const first = await open();
  expect(first).toMatchObject({
    status: 101,
    headers: { upgrade: "websocket", "sec-websocket-accept": "yes" },
  });
  expect(heads[0]!.headers).toMatchObject({ "sec-websocket-key": "a2V5", "isochrone-hops": "shop/web" });
  first.socket!.write("there");
  await vi.waitFor(() => expect(first.text()).toBe("hello there"));
  expect(await inFlight()).toBe(1);
  const ended = once(sockets[0]!, "close");
  first.socket!.destroy();
  await ended;
  await vi.waitFor(async () => expect(await inFlight()).toBe(0));
  expect(rig.dispatcher.decisions(null, 1)[0]).toMatchObject({ outcome: "answered", status: 101 });

  const second = await open();
  const closed = once(second.socket!, "close");
  sockets[1]!.destroy();
  await closed;
  await vi.waitFor(async () => expect(await inFlight()).toBe(0));
});

test("an endpoint that takes no WebSocket says so itself", async () => {
  await started();
  await rig.endpoint((incoming, response) => {
    response.statusCode = incoming.headers.upgrade === undefined ? 200 : 426;
    response.end("no");
  });
  await ready();
  const answer = await open();
  expect([answer.status, answer.text(), answer.headers.connection]).toEqual([426, "no", "close"]);
  await vi.waitFor(async () => expect(await inFlight()).toBe(0));
});

test.each([
  ["without an endpoint", {}, 503, "no_endpoints"],
  ["to a port of HTTP/2", { appProtocol: "kubernetes.io/h2c" }, 501, "upgrade"],
])("a WebSocket %s is refused with the reason", async (_name, fields, status, reason) => {
  await started(fields);
  await vi.waitFor(async () => expect((await ask(rig.port)).status).not.toBe(404));
  const answer = await open();
  expect([answer.status, answer.headers["isochrone-reason"]]).toEqual([status, reason]);
});

test.each(["https", "kubernetes.io/wss"])(
  "a port of %s is refused: nothing is sent to it in the clear",
  async (appProtocol) => {
    await started({ appProtocol });
    await echoing();
    await vi.waitFor(async () => expect((await ask(rig.port)).status).not.toBe(404));
    expect(await ask(rig.port)).toMatchObject({ status: 501, headers: { "isochrone-reason": "tls" } });
    expect(await open()).toMatchObject({ status: 501, headers: { "isochrone-reason": "tls" } });
  },
);

test("other protocols than WebSocket are passed over: the request is answered as it is", async () => {
  await started();
  await echoing();
  await ready();
  const answer = await open({ connection: "Upgrade, HTTP2-Settings", upgrade: "h2c", "http2-settings": "" });
  expect([answer.status, answer.text()]).toEqual([200, "plain"]);
});

test("a dispatcher that stops ends WebSockets once it has waited for them", async () => {
  rig = await new DispatchRig({ config: { drainMs: 100 } }).start();
  await rig.service("web");
  await echoing();
  await ready();
  const { socket } = await open();
  const closed = once(socket!, "close");
  await rig.dispatcher.stop();
  await closed;
  expect(socket!.destroyed).toBe(true);
});

// Through the relay process, whose delays may be late but never short. Exact times: relay/relay.test.ts.
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { Socket } from "node:net";
import { seededRandom } from "@isochrone/runtime";
import { expect, test } from "vitest";
import { pause, recordOf, startNetwork, tcpClient, tcpServer, until } from "./testing/rig.ts";

const echo = (socket: Socket): void => {
  socket.pipe(socket);
};

async function exchange(client: Socket): Promise<number> {
  const startMs = performance.now();
  client.write("x");
  await once(client, "data");
  return performance.now() - startMs;
}

function randomBytes(bytes: number): Buffer {
  const random = seededRandom(3);
  return Buffer.from(Uint8Array.from({ length: bytes }, () => Math.floor(random.next() * 256)));
}

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

test("connect and first exchange take at least two round trips, later exchanges one", async () => {
  const network = await startNetwork({ rttMs: 150 });
  const port = await tcpServer(network, "b", echo);
  const startMs = performance.now();
  const client = tcpClient(network, "a", "b", port);
  await exchange(client);
  const firstMs = performance.now() - startMs;
  expect(firstMs).toBeGreaterThanOrEqual(300);
  expect(await exchange(client)).toBeGreaterThanOrEqual(150);
});

test("the record counts request and answer of each exchange", async () => {
  const network = await startNetwork({ rttMs: 150 });
  const port = await tcpServer(network, "b", echo);
  const client = tcpClient(network, "a", "b", port);
  for (let i = 0; i < 3; i++) await exchange(client);
  const { tcp } = await recordOf(network, "a", "b");
  expect(tcp).toMatchObject({ count: 3, forwarded: 6, dropped: 0 });
  expect(tcp.meanMs).toBeGreaterThanOrEqual(150);
});

test("a half-closed connection still carries the answer, big transfers arrive intact", async () => {
  const network = await startNetwork({ rttMs: 10, jitterMs: 5, bandwidthBitsPerSecond: 1e9 });
  const port = await tcpServer(network, "b", (socket) => {
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("end", () => socket.end(Buffer.concat(chunks).reverse()));
  });
  const sent = randomBytes(6_000_000);
  const client = tcpClient(network, "a", "b", port);
  client.end(sent);
  const received: Buffer[] = [];
  client.on("data", (chunk: Buffer) => received.push(chunk));
  await once(client, "end");
  expect(sha256(Buffer.concat(received).reverse())).toBe(sha256(sent));
});

test("a receiver that doesn't read stops the sender", async () => {
  const network = await startNetwork({ rttMs: 2 });
  let server: Socket | null = null;
  const port = await tcpServer(network, "b", (socket) => {
    server = socket;
    socket.pause();
  });
  const client = tcpClient(network, "a", "b", port);
  let taken = 0;
  const chunk = Buffer.alloc(65_536, 7);
  const total = 64 * 1024 * 1024;
  const fill = (): void => {
    while (taken < total) {
      taken += chunk.length;
      if (!client.write(chunk)) return;
    }
    client.end();
  };
  client.on("drain", fill);
  fill();
  let before = -1;
  await until(async () => {
    const same = before === taken && server !== null;
    before = taken;
    await pause(150);
    return same;
  });
  expect(taken).toBeLessThan(total / 2);
  let received = 0;
  server!.on("data", (data: Buffer) => (received += data.length));
  server!.resume();
  await once(server!, "end");
  expect(received).toBe(total);
});

test("a reset is passed on", async () => {
  const network = await startNetwork({ rttMs: 4 });
  const port = await tcpServer(network, "b", (socket) => socket.once("data", () => socket.resetAndDestroy()));
  const client = tcpClient(network, "a", "b", port);
  client.write("x");
  const [error] = (await once(client, "error")) as [NodeJS.ErrnoException];
  expect(error.code).toBe("ECONNRESET");
});

test("the client's reset reaches the server", async () => {
  const network = await startNetwork({ rttMs: 4 });
  const errors: string[] = [];
  const port = await tcpServer(network, "b", (socket) => {
    socket.on("error", (error: NodeJS.ErrnoException) => errors.push(error.code ?? ""));
    socket.on("data", () => socket.write("y"));
  });
  const client = tcpClient(network, "a", "b", port);
  await exchange(client);
  client.resetAndDestroy();
  await until(() => errors.length > 0);
  expect(errors).toEqual(["ECONNRESET"]);
});

test("a port where nobody listens resets the connection", async () => {
  const network = await startNetwork({ rttMs: 20 });
  await network.expose("b", { protocol: "tcp", port: 9 });
  const startMs = performance.now();
  const [error] = (await once(tcpClient(network, "a", "b", 9), "error")) as [NodeJS.ErrnoException];
  expect(error.code).toBe("ECONNRESET");
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(20);
});

test("a cut stalls a connection without a reset, healing lets it go on", async () => {
  const network = await startNetwork({ rttMs: 4 });
  const port = await tcpServer(network, "b", echo);
  const client = tcpClient(network, "a", "b", port);
  await exchange(client);
  await network.setLink("a", "b", { cut: true });
  const received: string[] = [];
  client.on("data", (chunk: Buffer) => received.push(chunk.toString()));
  client.on("error", () => expect.unreachable());
  client.write("one ");
  await pause(50);
  client.write("two");
  await pause(150);
  expect(received).toEqual([]);
  await network.setLink("a", "b", { cut: false });
  await until(() => received.join("") === "one two");
});

test("a connection opened during a cut is served after it", async () => {
  const network = await startNetwork({ rttMs: 4, cut: true });
  const port = await tcpServer(network, "b", echo);
  const client = tcpClient(network, "a", "b", port);
  const first = exchange(client);
  await pause(100);
  await network.setLink("a", "b", { cut: false });
  expect(await first).toBeGreaterThanOrEqual(100);
});

test("loss is a retransmission delay, never missing bytes", async () => {
  const network = await startNetwork({ rttMs: 2, lossRatio: 0.4 }, { seed: 5 });
  const port = await tcpServer(network, "b", echo);
  const client = tcpClient(network, "a", "b", port);
  const timesMs: number[] = [];
  for (let i = 0; i < 12; i++) timesMs.push(await exchange(client));
  const { tcp } = await recordOf(network, "a", "b");
  expect(tcp.count).toBe(12);
  expect(tcp.dropped).toBeGreaterThan(0);
  expect(Math.max(...timesMs)).toBeGreaterThanOrEqual(200);
});

test("a transfer takes no less than the bandwidth allows", async () => {
  const network = await startNetwork({ rttMs: 2, bandwidthBitsPerSecond: 20e6 });
  const port = await tcpServer(network, "b", (socket) => {
    socket.resume();
    socket.on("end", () => socket.end("done"));
  });
  const client = tcpClient(network, "a", "b", port);
  const startMs = performance.now();
  client.end(Buffer.alloc(1_000_000));
  await once(client, "data");
  // 8 Mbit at 20 Mbit/s.
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(400);
});

test("unexposing resets established connections", async () => {
  const network = await startNetwork();
  const port = await tcpServer(network, "b", echo);
  const client = tcpClient(network, "a", "b", port);
  await exchange(client);
  const closed = once(client, "error");
  await network.unexpose("b", { protocol: "tcp", port });
  const [error] = (await closed) as [NodeJS.ErrnoException];
  expect(error.code).toBe("ECONNRESET");
});

// Exact times in the relay, with real sockets and a manual clock.
import { once } from "node:events";
import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { HandDrivenNetwork } from "../testing/hand-driven-network.ts";
import { tcpClient, tcpServer, udpClient, udpResponder, until } from "../testing/rig.ts";

const echo = (socket: Socket): void => {
  socket.pipe(socket);
};

async function connectAndExchange(network: HandDrivenNetwork, port: number): Promise<[Socket, number[]]> {
  const client = tcpClient(network, "a", "b", port);
  client.write("x");
  await until(() => network.held === 2);
  const times = [network.next(), network.next()];
  await until(() => network.held === 1);
  times.push(network.next());
  await once(client, "data");
  return [client, times];
}

async function exchangeOn(network: HandDrivenNetwork, client: Socket): Promise<[number, number]> {
  client.write("x");
  await until(() => network.held === 1);
  const there = network.next();
  await until(() => network.held === 1);
  const back = network.next();
  await once(client, "data");
  return [there, back];
}

test("connect and first exchange take two round trips, later exchanges one", async () => {
  const network = new HandDrivenNetwork({ rttMs: 150 });
  const port = await tcpServer(network, "b", echo);
  const [client, times] = await connectAndExchange(network, port);
  // SYN after half a round trip; request after the handshake, a whole round trip.
  expect(times).toEqual([75, 150 + 75, 300]);
  expect(await exchangeOn(network, client)).toEqual([375, 450]);
});

test("a client that waits for a round trip after connecting has its answer after one more", async () => {
  const network = new HandDrivenNetwork({ rttMs: 150 });
  const port = await tcpServer(network, "b", echo);
  const client = tcpClient(network, "a", "b", port);
  await until(() => network.held === 1);
  expect(network.next()).toBe(75);
  network.pass(75);
  expect(await exchangeOn(network, client)).toEqual([225, 300]);
});

test("the record counts request and answer without the handshake", async () => {
  const network = new HandDrivenNetwork({ rttMs: 150 });
  const port = await tcpServer(network, "b", echo);
  const [client] = await connectAndExchange(network, port);
  for (let i = 0; i < 2; i++) await exchangeOn(network, client);
  // With the handshake in the first of the three the mean would be 200.
  expect(network.record()!.tcp).toMatchObject({ count: 3, forwarded: 6, dropped: 0 });
  expect(network.record()!.tcp.meanMs).toBeCloseTo(150, 6);
});

test("the time that a server thinks is not in the record", async () => {
  const network = new HandDrivenNetwork({ rttMs: 10 });
  let server: Socket | null = null;
  let asked = 0;
  const port = await tcpServer(network, "b", (socket) => {
    server = socket;
    socket.on("data", () => asked++);
  });
  const client = tcpClient(network, "a", "b", port);
  client.write("x");
  await until(() => network.held === 2);
  expect([network.next(), network.next()]).toEqual([5, 15]);
  await until(() => asked === 1);
  network.pass(1000);
  server!.write("answer");
  await until(() => network.held === 1);
  expect(network.next()).toBe(1020);
  await once(client, "data");
  expect(network.record()!.tcp.meanMs).toBeCloseTo(10, 6);
});

test("a server that speaks first is heard after one round trip", async () => {
  const network = new HandDrivenNetwork({ rttMs: 600 });
  const port = await tcpServer(network, "b", (socket) => socket.write("hello"));
  const client = tcpClient(network, "a", "b", port);
  await until(() => network.held === 1);
  expect(network.next()).toBe(300);
  await until(() => network.held === 1);
  expect(network.next()).toBe(600);
  await once(client, "data");
});

test("a UDP exchange takes the round trip of its own direction, and the record says so", async () => {
  const network = new HandDrivenNetwork({ rttMs: 150 }, { rttMs: 20 });
  for (const [source, target, times] of [
    ["a", "b", [75, 150]],
    ["b", "a", [160, 170]],
  ] as const) {
    const port = await udpResponder(network, target);
    const client = await udpClient(network, source, target, port);
    const heard = once(client, "message");
    client.send("x");
    const seen: number[] = [];
    for (let way = 0; way < 2; way++) {
      await until(() => network.held === 1);
      seen.push(network.next());
    }
    await heard;
    expect(seen).toEqual(times);
  }
  expect(network.record()!.udp.meanMs).toBeCloseTo(150, 6);
});

test("what is under way when a pair is cut is lost", async () => {
  const network = new HandDrivenNetwork({ rttMs: 400 });
  let received = 0;
  const port = await udpResponder(network, "b", () => {
    received++;
    return null;
  });
  const client = await udpClient(network, "a", "b", port);
  client.send("x");
  await until(() => network.held === 1);
  network.pass(199);
  network.change({ cut: true });
  expect(network.next()).toBe(200);
  expect(network.record()!.udp).toMatchObject({ forwarded: 0, dropped: 1 });
  expect([network.held, received]).toEqual([0, 0]);
});

test("a queue that is full drops packets and counts them", async () => {
  const network = new HandDrivenNetwork({ bandwidthBitsPerSecond: 1e6 });
  let received = 0;
  const port = await udpResponder(network, "b", () => {
    received++;
    return null;
  });
  const client = await udpClient(network, "a", "b", port);
  const dropped = (): number => network.record()?.udp.dropped ?? 0;
  for (let sent = 20; sent <= 200; sent += 20) {
    for (let i = 0; i < 20; i++) client.send(Buffer.alloc(1000));
    await until(() => network.held + dropped() === sent);
  }
  // 64 KiB wait for the wire.
  expect([network.held, dropped()]).toEqual([65, 135]);
  while (network.held > 0) network.next();
  expect(network.nowMs).toBe(65 * 8);
  await until(() => received === 65);
});

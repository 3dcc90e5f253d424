import { once } from "node:events";
import { expect, test } from "vitest";
import { pause, recordOf, startNetwork, udpClient, udpResponder, until } from "./testing/rig.ts";

test("an exchange takes the round trip of its own direction, and the record says what the client sees", async () => {
  const network = await startNetwork();
  await network.setLink("a", "b", { rttMs: 150 }, { oneWay: true });
  await network.setLink("b", "a", { rttMs: 20 }, { oneWay: true });
  for (const [source, target, rttMs] of [
    ["a", "b", 150],
    ["b", "a", 20],
  ] as const) {
    const port = await udpResponder(network, target);
    const client = await udpClient(network, source, target, port);
    const seenMs: number[] = [];
    for (let i = 0; i < 11; i++) {
      const startMs = performance.now();
      client.send("x");
      await once(client, "message");
      seenMs.push(performance.now() - startMs);
    }
    const { udp } = await recordOf(network, source, target);
    expect(udp).toMatchObject({ count: 11, forwarded: 22, dropped: 0 });
    const sorted = seenMs.toSorted((x, y) => x - y);
    expect(sorted[0]).toBeGreaterThanOrEqual(rttMs);
    // The relay's time is part of the client's; 1.1 % is the record's resolution.
    expect(udp.p50Ms).toBeGreaterThanOrEqual(rttMs * 0.989);
    expect(udp.p50Ms).toBeLessThanOrEqual(sorted[5]! * 1.011);
  }
});

test("packets of a flow keep their order, whatever the jitter", async () => {
  const network = await startNetwork({ rttMs: 20, jitterMs: 20 });
  const port = await udpResponder(network, "b");
  const client = await udpClient(network, "a", "b", port);
  const seen: number[] = [];
  client.on("message", (packet) => seen.push(packet.readUInt32BE()));
  for (let i = 0; i < 300; i++) {
    const packet = Buffer.alloc(4);
    packet.writeUInt32BE(i);
    client.send(packet);
    if (i % 10 === 9) await pause(1);
    // Many in flight, but fewer than a socket buffer holds: a busy machine reads late.
    await until(() => seen.length >= i - 50);
  }
  await until(() => seen.length === 300);
  expect(seen).toEqual(Array.from({ length: 300 }, (_, i) => i));
});

test("the round trip loses the share that was set", async () => {
  const network = await startNetwork({ lossRatio: 0.2 }, { seed: 7 });
  const port = await udpResponder(network, "b");
  const client = await udpClient(network, "a", "b", port);
  let answers = 0;
  client.on("message", () => answers++);
  const sent = 3000;
  for (let batch = 1; batch <= sent / 50; batch++) {
    for (let i = 0; i < 50; i++) client.send("x");
    // Every request is lost, or answered by a packet that may be lost. In batches, so that no socket buffer
    // overflows.
    await until(async () => (await recordOf(network, "a", "b")).udp.dropped + answers === batch * 50);
  }
  // 0.2 +- 4.5 standard deviations of 3000 draws.
  expect(1 - answers / sent).toBeGreaterThan(0.2 - 0.033);
  expect(1 - answers / sent).toBeLessThan(0.2 + 0.033);
});

test("the same seed loses the same packets", async () => {
  const lost = async (): Promise<number[]> => {
    const network = await startNetwork({ lossRatio: 0.3 }, { seed: 11 });
    const port = await udpResponder(network, "b");
    const client = await udpClient(network, "a", "b", port);
    const seen: number[] = [];
    client.on("message", (packet) => seen.push(packet[0]!));
    for (let i = 0; i < 100; i++) {
      client.send(Buffer.of(i));
      if (i % 10 === 9) await pause(1);
    }
    await until(async () => (await recordOf(network, "a", "b")).udp.dropped + seen.length === 100);
    return seen;
  };
  const first = await lost();
  expect(await lost()).toEqual(first);
  expect(first.length).toBeLessThan(100);
});

test("a cut pair drops packets, others don't notice, and healing ends it", async () => {
  const network = await startNetwork({ rttMs: 4 }, { nodes: ["a", "b", "c"] });
  const port = await udpResponder(network, "b");
  const clients = await Promise.all(["a", "c"].map((source) => udpClient(network, source, "b", port)));
  const answers = [0, 0];
  for (const [i, client] of clients.entries()) client.on("message", () => answers[i]!++);
  await network.setLink("a", "b", { cut: true });
  for (const client of clients) client.send("x");
  await until(async () => answers[1] === 1 && (await recordOf(network, "a", "b")).udp.dropped === 1);
  expect(answers).toEqual([0, 1]);
  expect(network.matrix().rttMs[0]).toEqual([0, null, 4]);
  await network.setLink("a", "b", { cut: false });
  clients[0]!.send("y");
  await until(() => answers[0] === 1);
});

test("a target that doesn't listen is silence", async () => {
  const network = await startNetwork();
  await network.expose("b", { protocol: "udp", port: 9 });
  const client = await udpClient(network, "a", "b", 9);
  client.on("message", () => expect.unreachable());
  for (let i = 0; i < 3; i++) {
    client.send("x");
    await pause(20);
  }
  expect((await recordOf(network, "a", "b")).udp.count).toBe(0);
});

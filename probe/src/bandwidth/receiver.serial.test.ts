import { createSocket } from "node:dgram";
import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { isLibcSupported, loadLibc, Poller, READABLE } from "@isochrone/kernel-sockets";
import { afterEach, describe, expect, test } from "vitest";
import { parseAddress } from "../domain/ip.ts";
import { Keyring } from "../domain/keyring.ts";
import type { Doorbell, PacketKey } from "../ports/ports.ts";
import { until } from "../testing/harness.ts";
import type { BurstOutcome } from "./burst.ts";
import type { ReceiverConfig, ReceiverCounts, SenderTask } from "./messages.ts";
import { RawClient } from "./testing/raw-client.ts";
import { ReceiverThread, sendTest } from "./threads.ts";
import { HEADER_BYTES, MESSAGE, REFUSALS, writeOpen, type OpenRequest, type Refusal } from "./wire.ts";

const KEY: PacketKey = { id: 1, secret: Buffer.alloc(32, 1) };
const NEXT: PacketKey = { id: 2, secret: Buffer.alloc(32, 2) };
const LOOPBACK = parseAddress("127.0.0.1")!;
const HELLO_BYTES = HEADER_BYTES + 16;

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const part of open.splice(0).reverse()) await part.close();
});

async function start(
  config: Partial<ReceiverConfig> = {},
  doorbell: Doorbell | null = null,
): Promise<{
  receiver: ReceiverThread;
  port: number;
  counts: ReceiverCounts[];
}> {
  const counts: ReceiverCounts[] = [];
  const receiver = new ReceiverThread(
    {
      bindAddress: "127.0.0.1",
      port: 0,
      identity: "127.0.0.1",
      keys: [KEY],
      acceptTranslatedSource: false,
      maxBytes: 1e7,
      maxMs: 5000,
      ...config,
    },
    {
      clock: systemClock,
      logger: new MemoryLogger(),
      onCounts: (count) => void counts.push(count),
      doorbell,
    },
  );
  open.push(receiver);
  return { receiver, port: await receiver.open(), counts };
}

async function join(port: number): Promise<{ client: RawClient; request: OpenRequest }> {
  const client = await RawClient.open(port);
  open.push(client);
  const hello = await client.bytes(HELLO_BYTES);
  const request: OpenRequest = {
    serverNonce: Uint8Array.from(hello.subarray(HEADER_BYTES, HELLO_BYTES)),
    clientNonce: Buffer.alloc(16, 9),
    source: LOOPBACK,
    destination: LOOPBACK,
    maxBytes: 1e6,
    maxMs: 2000,
    transport: "udp",
  };
  return { client, request };
}

async function answerTo(client: RawClient, message: Buffer): Promise<Refusal | null> {
  client.socket.write(message);
  const answer = (await client.bytes(HELLO_BYTES + HEADER_BYTES + 4)).subarray(HELLO_BYTES);
  if (answer[0] === MESSAGE.accept) return null;
  expect(answer[0]).toBe(MESSAGE.refuse);
  return REFUSALS[answer.readUInt32BE(HEADER_BYTES)] ?? null;
}

const task = (port: number, change: Partial<SenderTask> = {}): SenderTask => ({
  transport: "udp",
  address: "127.0.0.1",
  port,
  source: LOOPBACK,
  destination: LOOPBACK,
  bindAddress: "127.0.0.1",
  keys: [KEY],
  signingKeyId: 1,
  maxBytes: 5e6,
  maxBitsPerSecond: 30e6,
  maxDurationMs: 1500,
  maxQueueMs: 25,
  dscp: 0,
  ...change,
});

const never = new AbortController().signal;

describe.skipIf(!isLibcSupported())("bandwidth receiver", () => {
  test.each([
    ["a request of its own key", {}, new Keyring([KEY]), 1, null],
    ["a key it hasn't", {}, new Keyring([NEXT]), 2, "unknown_key"],
    ["no signature", {}, new Keyring([]), 0, "unknown_key"],
    ["another secret", {}, new Keyring([{ id: 1, secret: Buffer.alloc(32, 7) }]), 1, "bad_hmac"],
    [
      "a nonce of another connection",
      { serverNonce: Buffer.alloc(16, 5) },
      new Keyring([KEY]),
      1,
      "wrong_nonce",
    ],
    [
      "another destination",
      { destination: parseAddress("10.0.0.9")! },
      new Keyring([KEY]),
      1,
      "wrong_destination",
    ],
    ["another source", { source: parseAddress("10.0.0.9")! }, new Keyring([KEY]), 1, "wrong_source"],
    ["more bytes than it grants", { maxBytes: 2e7 }, new Keyring([KEY]), 1, "too_many_bytes"],
    ["more time than it grants", { maxMs: 6000 }, new Keyring([KEY]), 1, "too_long"],
  ] as const)("says to %s what it should", async (_, change, keys, keyId, refusal) => {
    const { port } = await start();
    const { client, request } = await join(port);
    expect(await answerTo(client, writeOpen({ ...request, ...change }, keys, keyId))).toBe(refusal);
  });

  test("a recorded open can't be played again", async () => {
    const { port } = await start();
    const first = await join(port);
    const message = writeOpen(first.request, new Keyring([KEY]), 1);
    expect(await answerTo(first.client, message)).toBeNull();
    first.client.close();
    const second = await join(port);
    expect(await answerTo(second.client, message)).toBe("wrong_nonce");
  });

  test("one test at a time; the next comes in when it has gone, however it went", async () => {
    const { port } = await start();
    const keys = new Keyring([KEY]);
    const first = await join(port);
    expect(await answerTo(first.client, writeOpen(first.request, keys, 1))).toBeNull();
    const second = await join(port);
    expect(await answerTo(second.client, writeOpen(second.request, keys, 1))).toBe("busy");
    expect(await sendTest(task(port), systemClock, never)).toEqual({ type: "refused", refusal: "busy" });
    first.client.close();
    await expect
      .poll(async () => (await sendTest(task(port), systemClock, never)).type, { timeout: 8000 })
      .toBe("done");
  });

  test.each([
    ["noise", Buffer.from("GET / HTTP/1.1\r\nhost: a\r\n\r\n")],
    ["a length without end", Buffer.from([2, 1, 0, 1, 0xff, 0xff, 0xff, 0xff])],
    [
      "data without a test",
      Buffer.from([MESSAGE.data, 1, 0, 0, 0, 0, 0, 200, ...Array<number>(192).fill(0)]),
    ],
    ["an open that is too short", Buffer.from([MESSAGE.open, 1, 0, 1, 0, 0, 0, 12, 1, 2, 3, 4])],
  ])("%s ends the connection without an answer", async (_, message) => {
    const { port } = await start();
    const { client } = await join(port);
    client.socket.write(message);
    const answer = (await client.end()).subarray(HELLO_BYTES);
    expect(answer.length).toBe(0);
  });

  test("who says nothing is let go, and doesn't keep others out meanwhile", async () => {
    const { port } = await start();
    const silent = await join(port);
    const result = await sendTest(task(port), systemClock, never);
    expect(result.type).toBe("done");
    await silent.client.end();
  });

  test("a crowd of silent clients is turned away at the door", async () => {
    const { port } = await start();
    const crowd = await Promise.all(Array.from({ length: 12 }, () => RawClient.open(port)));
    open.push(...crowd);
    await expect
      .poll(() => crowd.filter(({ ended }) => ended).length, { timeout: 4000 })
      .toBeGreaterThanOrEqual(4);
  });

  test("UDP without a test, or of another token, is counted and never answered", async () => {
    const { port, counts } = await start();
    const socket = createSocket("udp4");
    open.push({ close: () => socket.close() });
    let answers = 0;
    socket.on("message", () => answers++);
    for (let i = 0; i < 50; i++) socket.send(Buffer.alloc(1200, i), port, "127.0.0.1");
    const result = await sendTest(task(port), systemClock, never);
    expect(result).toMatchObject({ type: "done", outcome: { result: "ok" } });
    await expect
      .poll(() => counts.reduce((n, count) => n + count.strangePackets, 0), { timeout: 4000 })
      .toBe(50);
    expect(answers).toBe(0);
    expect(counts.reduce((n, count) => n + count.bytes, 0)).toBeGreaterThan(10_000);
  });

  test("keys change while it runs", async () => {
    const { receiver, port } = await start();
    receiver.setKeys([KEY, NEXT]);
    const both = task(port, { keys: [NEXT], signingKeyId: 2 });
    await expect
      .poll(async () => (await sendTest(both, systemClock, never)).type, { timeout: 8000 })
      .toBe("done");
    receiver.setKeys([NEXT]);
    await expect
      .poll(() => sendTest(task(port), systemClock, never), { timeout: 8000 })
      .toEqual({ type: "refused", refusal: "unknown_key" });
  });

  test("without keys nothing is signed, and nobody who signs is believed", async () => {
    const { port } = await start({ keys: [] });
    const unsigned = task(port, { keys: [], signingKeyId: 0 });
    expect((await sendTest(unsigned, systemClock, never)).type).toBe("done");
    expect(await sendTest(task(port), systemClock, never)).toEqual({
      type: "refused",
      refusal: "unknown_key",
    });
  });

  test("a sender that goes beyond its word is cut off", async () => {
    const { port, counts } = await start();
    const { client, request } = await join(port);
    const small = { ...request, maxBytes: 5000, transport: "tcp" as const };
    expect(await answerTo(client, writeOpen(small, new Keyring([KEY]), 1))).toBeNull();
    const block = Buffer.alloc(1000);
    block.set([MESSAGE.data, 1, 0, 0, 0, 0, 0x03, 0xe8]);
    for (let i = 0; i < 20; i++) client.socket.write(block);
    await client.end();
    await expect
      .poll(() => counts.some(({ ends }) => ends.too_many_bytes === 1), { timeout: 4000 })
      .toBe(true);
  });

  test.each(["udp", "tcp"] as const)(
    "a %s test over loopback keeps to its cap and its bytes",
    async (transport) => {
      const { port } = await start();
      let outcome: BurstOutcome | null = null;
      for (let attempt = 0; attempt < 5 && outcome?.result !== "ok"; attempt++) {
        const result = await sendTest(task(port, { transport }), systemClock, never);
        outcome = result.type === "done" ? result.outcome : null;
      }
      expect(outcome).toMatchObject({ result: "ok", limit: "rate_cap" });
      expect(outcome?.bytes).toBeLessThanOrEqual(5e6);
      expect(outcome?.achievedBitsPerSecond).toBeGreaterThan(24e6);
      expect(outcome?.achievedBitsPerSecond).toBeLessThan(36e6);
    },
  );

  test("with a doorbell there is a thread only while somebody is connected, always on one port", async () => {
    const poller = new Poller(await loadLibc());
    const turns = setInterval(() => poller.wait(0), 5);
    open.push({ close: () => (clearInterval(turns), poller.close()) });
    const doorbell: Doorbell = {
      watch(fd, onReady) {
        poller.add(fd, READABLE, onReady);
        return () => poller.remove(fd);
      },
    };
    const { receiver, port, counts } = await start({ restMs: 50 }, doorbell);
    const answers: unknown[] = [];
    for (const keys of [[KEY], [KEY], [NEXT]]) {
      receiver.setKeys(keys);
      expect(receiver.isRunning).toBe(false);
      const { client, request } = await join(port);
      expect(receiver.isRunning).toBe(true);
      answers.push(await answerTo(client, writeOpen(request, new Keyring([KEY]), 1)));
      client.close();
      await until("the end of the thread", () => !receiver.isRunning);
    }
    expect(answers).toEqual([null, null, "unknown_key"]);
    expect(counts.reduce((sum, { tests }) => sum + tests, 0)).toBe(2);
  });

  test("IPv6 too", async () => {
    const { port } = await start({ bindAddress: "::1", identity: "::1" });
    const own = parseAddress("::1")!;
    const way = { address: "::1", bindAddress: "::1", source: own, destination: own };
    const result = await sendTest(task(port, way), systemClock, never);
    expect(result).toMatchObject({ type: "done" });
    expect(result.type === "done" ? result.outcome.bytes : 0).toBeGreaterThan(40 * 126);
  });

  test("aborting stops the sender at once", async () => {
    const { port } = await start();
    const abort = new AbortController();
    const running = sendTest(task(port), systemClock, abort.signal);
    await systemClock.sleep(350);
    abort.abort();
    const result = await running;
    const said =
      result.type === "done" ? result.outcome.reason : result.type === "failed" ? result.message : "";
    expect(["stopped from outside", "stopped before the test began"]).toContain(said);
  });

  test("a port that is taken, and a peer that isn't there, are clear errors", async () => {
    const { port } = await start();
    await expect(start({ port })).rejects.toMatchObject({ code: "probe_bind_failed", retryable: true });
    const gone = task(1);
    expect(await sendTest(gone, systemClock, never)).toMatchObject({
      type: "failed",
      message: "cannot connect to 127.0.0.1 port 1: ECONNREFUSED",
    });
  });
});

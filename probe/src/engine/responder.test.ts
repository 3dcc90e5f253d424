import { createSocket, type Socket } from "node:dgram";
import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { createFrame } from "../domain/frames.ts";
import { familyOf } from "../domain/ip.ts";
import { Keyring } from "../domain/keyring.ts";
import { findFault, isFor, isFrom, residenceNsOf } from "../domain/packet.ts";
import type { EngineConfig } from "../ports.ts";
import {
  TEST_KEY,
  bytesOf,
  openResponder,
  signedRequest,
  until,
  type TestResponder,
} from "../testing/harness.ts";

let responder: TestResponder | null = null;
let client: Socket | null = null;
const answers: Buffer[] = [];

async function open(values: Partial<EngineConfig> = {}): Promise<TestResponder> {
  answers.length = 0;
  responder = await openResponder(values);
  const socket = createSocket("udp4");
  client = socket;
  socket.on("message", (packet) => answers.push(packet));
  await new Promise<void>((resolve) => void socket.bind(0, "127.0.0.1", () => resolve()));
  return responder;
}

afterEach(async () => {
  client?.close();
  client = null;
  await responder?.close();
  responder = null;
});

/** Sends all, and a good one last: when that is answered, all before it were judged. */
async function ask(...packets: readonly Buffer[]): Promise<Readonly<Record<string, number>>> {
  const to = responder?.udpPort ?? 0;
  for (const packet of packets) client?.send(packet, to, "127.0.0.2");
  client?.send(signedRequest({ sequence: 0xffff_ffff }), to, "127.0.0.2");
  await until("the last answer", () => answers.some((answer) => answer.readUInt32BE(24) === 0xffff_ffff));
  return responder?.responder.take().refused ?? {};
}

describe("echo responder over UDP", () => {
  test("answers a good request with as many bytes, identities swapped, signed with the same key", async () => {
    await open();
    await ask(signedRequest({ bytes: 84, sequence: 1 }), signedRequest({ bytes: 1200, sequence: 2 }));
    expect(answers.map((answer) => answer.length)).toEqual([84, 1200, 128]);
    const keys = new Keyring([TEST_KEY]);
    for (const answer of answers) {
      expect(findFault(answer, "response", "udp", keys)).toBeNull();
      expect(isFrom(answer, bytesOf("127.0.0.2")) && isFor(answer, bytesOf("127.0.0.1"))).toBe(true);
      expect(residenceNsOf(answer)).toBeGreaterThan(0);
      expect(residenceNsOf(answer)).toBeLessThan(100e6);
    }
  });

  test("gives no answer to a signature made with another secret", async () => {
    await open();
    const refused = await ask(signedRequest({ key: { id: 1, secret: Buffer.alloc(32, 1) } }));
    expect({ refused, answers: answers.length }).toEqual({ refused: { bad_hmac: 1 }, answers: 1 });
  });

  test("gives no answer to a key that it doesn't have", async () => {
    await open();
    expect(await ask(signedRequest({ key: { id: 9, secret: TEST_KEY.secret } }))).toEqual({ unknown_key: 1 });
    expect(answers).toHaveLength(1);
  });

  test("accepts every key of the ring, so that a rotation loses no packet", async () => {
    const next = { id: 2, secret: Buffer.alloc(32, 3) };
    await open({ keys: [TEST_KEY, next] });
    expect(await ask(signedRequest({ key: next }))).toEqual({});
    expect(answers).toHaveLength(2);
  });

  test("gives no answer to a packet meant for another identity", async () => {
    await open();
    expect(await ask(signedRequest({ destination: "127.0.0.99" }))).toEqual({ wrong_destination: 1 });
    expect(answers).toHaveLength(1);
  });

  test("gives no answer when the claimed source isn't the observed one", async () => {
    await open();
    expect(await ask(signedRequest({ source: "127.0.0.50" }))).toEqual({ wrong_source: 1 });
    expect(answers).toHaveLength(1);
  });

  test("answers a translated source where that is allowed, and names the claimed identity", async () => {
    await open({ acceptTranslatedSource: true });
    expect(await ask(signedRequest({ source: "127.0.0.50" }))).toEqual({});
    expect(answers[0] !== undefined && isFor(answers[0], bytesOf("127.0.0.50"))).toBe(true);
  });

  test("gives no answer to answers, to TCP's packets, to short, long and mislabelled ones", async () => {
    await open();
    const answer = signedRequest();
    answer[5] = 2;
    const mislabelled = signedRequest();
    mislabelled.writeUInt16BE(200, 10);
    const oversize = Buffer.concat([signedRequest(), Buffer.alloc(1200)]);
    const refused = await ask(
      answer,
      signedRequest({ transport: "tcp" }),
      Buffer.alloc(0),
      Buffer.alloc(83),
      oversize,
      mislabelled,
    );
    expect(refused).toEqual({ bad_type: 2, too_short: 2, too_long: 1, bad_length: 1 });
    expect(answers).toHaveLength(1);
  });

  test("a flood of garbage gets not one byte back", async () => {
    await open();
    for (let round = 0; round < 10; round++) {
      const refused = await ask(...Array.from({ length: 100 }, (_, i) => Buffer.alloc(84 + i, round + i)));
      expect(Object.values(refused).reduce((sum, count) => sum + count, 0)).toBe(100);
      expect(answers).toHaveLength(1);
      answers.length = 0;
    }
  });

  test("takes no more from one source than its rate and burst", async () => {
    await open({ responderPacketsPerSecond: 10 });
    for (let i = 0; i < 100; i++)
      client?.send(signedRequest({ sequence: i }), responder?.udpPort ?? 0, "127.0.0.2");
    let refused = 0;
    let answered = 0;
    await until("all to be judged", () => {
      const snapshot = responder?.responder.take();
      refused += snapshot?.refused["rate_limited"] ?? 0;
      answered += snapshot?.answered ?? 0;
      return refused + answered === 100;
    });
    // 2 s of burst, and what the rate gave back while the packets came in.
    expect(answered).toBeGreaterThanOrEqual(20);
    expect(answered).toBeLessThanOrEqual(40);
  });
});

describe("echo responder over TCP", () => {
  async function talk(...chunks: readonly Uint8Array[]): Promise<{ received: Buffer; closed: boolean }> {
    const socket = connect(responder?.tcpPort ?? 0, "127.0.0.2");
    socket.setNoDelay(true);
    const state = { received: Buffer.alloc(0), closed: false };
    socket.on("data", (chunk: Buffer) => (state.received = Buffer.concat([state.received, chunk])));
    socket.on("close", () => (state.closed = true));
    socket.on("error", () => {});
    await new Promise<void>((resolve) => void socket.once("connect", resolve));
    for (const chunk of chunks) socket.write(chunk);
    await until("an answer or the end", () => state.closed || state.received.length >= 130);
    socket.destroy();
    return state;
  }

  function framed(packet: Buffer): Buffer {
    const { frame, packet: inside } = createFrame(packet.length);
    packet.copy(inside);
    return frame;
  }

  test("answers a request that comes in pieces", async () => {
    await open();
    const frame = framed(signedRequest({ transport: "tcp" }));
    const { received } = await talk(frame.subarray(0, 1), frame.subarray(1, 50), frame.subarray(50));
    expect(received.length).toBe(130);
    expect(findFault(received.subarray(2), "response", "tcp", new Keyring([TEST_KEY]))).toBeNull();
  });

  test("hangs up on a length that no packet has, at once", async () => {
    await open();
    const { received, closed } = await talk(Buffer.from([0xff, 0xff]));
    expect({ bytes: received.length, closed }).toEqual({ bytes: 0, closed: true });
    expect(responder?.responder.take().refused).toEqual({ bad_frame: 1 });
  });

  test("hangs up on a stream of garbage without answering", async () => {
    await open();
    const { received, closed } = await talk(Buffer.alloc(1 << 20, "GET / HTTP/1.1\r\n"));
    expect({ bytes: received.length, closed }).toEqual({ bytes: 0, closed: true });
  });

  test("hangs up on a client that asks and never reads", async () => {
    await open({ packetBytes: 1200 });
    const socket = connect(responder?.tcpPort ?? 0, "127.0.0.2");
    socket.on("error", () => {});
    let closed = false;
    socket.on("close", () => (closed = true));
    socket.pause();
    const frame = framed(signedRequest({ transport: "tcp", bytes: 1200 }));
    await new Promise<void>((resolve) => void socket.once("connect", resolve));
    const many = Buffer.concat(Array.from({ length: 200 }, () => frame));
    let slow = 0;
    await until("the hang-up", () => {
      if (!socket.destroyed && socket.writableLength < 4 << 20) socket.write(many);
      slow += responder?.responder.take().refused["slow_reader"] ?? 0;
      return closed || slow > 0;
    });
    expect(slow).toBe(1);
    socket.destroy();
  });

  test("refuses more connections of one source than a peer can need", async () => {
    await open();
    const sockets = Array.from({ length: 70 }, () =>
      connect(responder?.tcpPort ?? 0, "127.0.0.2").on("error", () => {}),
    );
    let refused = 0;
    await until(
      "the refusals",
      () => (refused += responder?.responder.take().refused["too_many_connections"] ?? 0) >= 6,
    );
    expect(refused).toBe(6);
    for (const socket of sockets) socket.destroy();
  });
});

test("IPv4 and IPv4-mapped addresses are one", () => {
  expect(bytesOf("::ffff:10.0.0.1")).toEqual(bytesOf("10.0.0.1"));
  expect(familyOf(bytesOf("::ffff:10.0.0.1"))).toBe(4);
});

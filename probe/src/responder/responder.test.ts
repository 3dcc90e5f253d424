import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { isLibcSupported } from "@isochrone/kernel-sockets";
import { Keyring } from "../domain/keyring.ts";
import { findFault, isFor, isFrom, residenceNsOf } from "../domain/packet.ts";
import type { EngineConfig } from "../ports/ports.ts";
import { TEST_KEY, bytesOf, signedRequest, until } from "../testing/harness.ts";
import { LAST_SEQUENCE, ResponderClient, framed } from "../testing/responder-client.ts";

const KEYS = new Keyring([TEST_KEY]);
const IMPLEMENTATIONS = isLibcSupported() ? (["auto", "node"] as const) : (["node"] as const);

describe.each(IMPLEMENTATIONS)("echo responder on %s sockets", (sockets) => {
  const kernel = sockets === "auto";
  let client: ResponderClient | null = null;
  const connections: Socket[] = [];

  async function open(values: Partial<EngineConfig> = {}): Promise<ResponderClient> {
    client = await ResponderClient.open({ sockets }, values);
    const line = { sockets: kernel ? "kernel" : "node" };
    expect(client.logger.lines[0]).toMatchObject({ event: "responder thread ready", fields: line });
    return client;
  }

  function connection(port: number): Socket {
    const socket = connect(port, "127.0.0.2").on("error", () => {});
    connections.push(socket);
    return socket;
  }

  afterEach(async () => {
    for (const socket of connections.splice(0)) socket.destroy();
    await client?.close();
    client = null;
  });

  describe("over UDP", () => {
    test("answers a good request with as many bytes, identities swapped, signed with the same key", async () => {
      const { answers, ...rest } = await open();
      expect(rest.udpPort).toBeGreaterThan(0);
      const packets = [
        signedRequest({ bytes: 84, sequence: 1 }),
        signedRequest({ bytes: 1200, sequence: 2 }),
      ];
      expect(await client!.ask(packets)).toEqual({});
      expect(answers.map((answer) => answer.length)).toEqual([84, 1200, 128]);
      for (const answer of answers) {
        expect(findFault(answer, "response", "udp", KEYS)).toBeNull();
        expect(isFrom(answer, bytesOf("127.0.0.2")) && isFor(answer, bytesOf("127.0.0.1"))).toBe(true);
        expect(residenceNsOf(answer)).toBeGreaterThan(0);
      }
    });

    test("tells for each of many requests at once how long it was held: never longer than it took", async () => {
      const { answers } = await open();
      const sentNs = process.hrtime.bigint();
      const packets = Array.from({ length: 100 }, (_, sequence) => signedRequest({ sequence: sequence + 1 }));
      await client!.ask(packets);
      const tookNs = Number(process.hrtime.bigint() - sentNs);
      expect(answers).toHaveLength(101);
      for (const answer of answers) {
        expect(residenceNsOf(answer)).toBeGreaterThan(0);
        expect(residenceNsOf(answer)).toBeLessThan(tookNs);
      }
    });

    test("gives no answer to a signature made with another secret, or to a key that it doesn't have", async () => {
      const { answers } = await open();
      const refused = await client!.ask([
        signedRequest({ key: { id: 1, secret: Buffer.alloc(32, 1) } }),
        signedRequest({ key: { id: 9, secret: TEST_KEY.secret } }),
      ]);
      expect({ refused, answers: answers.length }).toEqual({
        refused: { bad_hmac: 1, unknown_key: 1 },
        answers: 1,
      });
    });

    test("keys can be replaced while it runs: all of the ring are accepted, the old ones for a while longer", async () => {
      const next = { id: 2, secret: Buffer.alloc(32, 3) };
      const { thread, answers } = await open();
      expect(await client!.ask([signedRequest({ key: next })])).toEqual({ unknown_key: 1 });
      thread.setKeys(1, [TEST_KEY, next], 1);
      // The message to the thread and the packets are unordered.
      let sequence = 2;
      const known = answers.length;
      await until("the new key to be taken", () => {
        client!.send(signedRequest({ key: next, sequence: sequence++ }));
        return answers.length > known;
      });
      thread.setKeys(1, [next], 2);
      await new Promise((resolve) => void setTimeout(resolve, 200));
      client!.drain();
      const before = answers.length;
      const refused = client!.refusedSum();
      client!.send(signedRequest({ key: next, sequence: sequence++ }));
      client!.send(signedRequest({ sequence: sequence++ }));
      await until("both answers", () => answers.length >= before + 2);
      client!.drain();
      expect(client!.refusedSum()).toBe(refused);
    });

    test("unsigned packets are answered only where no key is set", async () => {
      const unsigned = signedRequest({ sequence: 9 });
      unsigned.writeUInt16BE(0, 6);
      unsigned.fill(0, unsigned.length - 16);
      await open();
      expect(await client!.ask([unsigned])).toEqual({ unknown_key: 1 });
      await client!.close();
      const { answers } = await open({ keys: [], signingKeyId: 0 });
      const last = Buffer.from(unsigned);
      last.writeUInt32BE(LAST_SEQUENCE, 24);
      const tagged = Buffer.from(unsigned);
      tagged[tagged.length - 1] = 1;
      expect(await client!.ask([signedRequest(), tagged, unsigned], last)).toEqual({
        unknown_key: 1,
        bad_hmac: 1,
      });
      expect(answers).toHaveLength(2);
      for (const answer of answers) expect(findFault(answer, "response", "udp", new Keyring([]))).toBeNull();
    });

    test("gives no answer to a packet meant for another identity, or that claims another source", async () => {
      const { answers } = await open();
      const refused = await client!.ask([
        signedRequest({ destination: "127.0.0.99" }),
        signedRequest({ source: "127.0.0.50" }),
      ]);
      expect(refused).toEqual({ wrong_destination: 1, wrong_source: 1 });
      expect(answers).toHaveLength(1);
    });

    test("answers a translated source where that is allowed, and names the claimed identity", async () => {
      const { answers } = await open({ acceptTranslatedSource: true });
      expect(await client!.ask([signedRequest({ source: "127.0.0.50" })])).toEqual({});
      expect(answers[0] !== undefined && isFor(answers[0], bytesOf("127.0.0.50"))).toBe(true);
    });

    test("gives no answer to answers, to TCP's packets, to short, long and mislabelled ones, and counts them", async () => {
      const { answers } = await open();
      const answer = signedRequest();
      answer[5] = 2;
      const version = signedRequest();
      version[4] = 2;
      const reserved = signedRequest();
      reserved[9] = 1;
      const mislabelled = signedRequest();
      mislabelled.writeUInt16BE(200, 10);
      const oversize = Buffer.concat([signedRequest(), Buffer.alloc(1200)]);
      const refused = await client!.ask([
        answer,
        version,
        reserved,
        mislabelled,
        oversize,
        signedRequest({ transport: "tcp" }),
        Buffer.alloc(0),
        Buffer.alloc(83),
        Buffer.alloc(84),
      ]);
      expect(refused).toEqual(
        kernel
          ? { kernel_dropped: 9 }
          : { bad_type: 3, bad_version: 1, bad_magic: 1, too_short: 2, too_long: 1, bad_length: 1 },
      );
      expect(answers).toHaveLength(1);
    });

    test("takes no more from one source than its rate and burst, however many flows it makes", async () => {
      await open({ responderPacketsPerSecond: 10 });
      const packets = Array.from({ length: 100 }, (_, i) => signedRequest({ sequence: i, session: i % 7 }));
      for (const packet of packets) client!.send(packet);
      await client!.counted(() => client!.answered + client!.refusedSum() === 100);
      // 2 s of burst, plus the rate's refill meanwhile.
      expect(client!.answered).toBeGreaterThanOrEqual(20);
      expect(client!.answered).toBeLessThanOrEqual(40);
      expect(Object.keys(client!.refused)).toEqual(["rate_limited"]);
    });

    test("replays of one packet are answered a few times, and take nothing from the flow's rate", async () => {
      await open({ responderPacketsPerSecond: 1000 });
      const replay = signedRequest({ sequence: 1 });
      const flood = Array.from({ length: 3000 }, () => replay);
      for (let i = 0; i < flood.length; i += 100) {
        for (const packet of flood.slice(i, i + 100)) client!.send(packet);
        await new Promise((resolve) => void setImmediate(resolve));
      }
      // Known and unknown flows have separate queues: replays must have left both.
      await client!.counted(() => client!.answered + client!.refusedSum() >= 3000);
      for (let sequence = 2; sequence < 1000; sequence++) client!.send(signedRequest({ sequence }));
      await client!.counted(() => client!.answered + client!.refusedSum() >= 3998);
      const { repeated = 0, ...others } = client!.refused;
      expect(others).toEqual({});
      // A tenth of the rate for two seconds, plus the refill.
      expect(3000 - repeated).toBeGreaterThanOrEqual(200);
      expect(3000 - repeated).toBeLessThan(2000);
      expect(client!.answered).toBe(998 + 3000 - repeated);
    });
  });

  describe("over TCP", () => {
    test("answers a request that comes in pieces", async () => {
      await open();
      const frame = framed(signedRequest({ transport: "tcp" }));
      const { received } = await client!.talk(
        frame.subarray(0, 1),
        frame.subarray(1, 50),
        frame.subarray(50),
      );
      expect(received.length).toBe(130);
      expect(findFault(received.subarray(2), "response", "tcp", KEYS)).toBeNull();
      expect(residenceNsOf(received.subarray(2))).toBeGreaterThan(0);
    });

    test("answers many requests of one connection in their order", async () => {
      await open();
      const socket = connection(client!.tcpPort);
      let received = Buffer.alloc(0);
      socket.on("data", (chunk: Buffer) => (received = Buffer.concat([received, chunk])));
      const frames = Array.from({ length: 100 }, (_, sequence) =>
        framed(signedRequest({ transport: "tcp", sequence })),
      );
      socket.write(Buffer.concat(frames));
      await until("all answers", () => received.length === 100 * 130);
      for (let i = 0; i < 100; i++) expect(received.readUInt32BE(i * 130 + 2 + 24)).toBe(i);
    });

    test("hangs up on a length that no packet has, at once, and on a stream of garbage", async () => {
      await open();
      const short = await client!.talk(Buffer.from([0xff, 0xff]));
      expect({ bytes: short.received.length, closed: short.closed }).toEqual({ bytes: 0, closed: true });
      const long = await client!.talk(Buffer.alloc(1 << 20, "GET / HTTP/1.1\r\n"));
      expect({ bytes: long.received.length, closed: long.closed }).toEqual({ bytes: 0, closed: true });
      await client!.counted(() => client!.refused["bad_frame"] === 2);
    });

    test("hangs up on a client that asks and never reads, and serves others meanwhile", async () => {
      await open({ responderPacketsPerSecond: 1_000_000 });
      const socket = connection(client!.tcpPort);
      let closed = false;
      socket.on("close", () => (closed = true));
      socket.pause();
      await new Promise<void>((resolve) => void socket.once("connect", resolve));
      const frame = framed(signedRequest({ transport: "tcp", bytes: 1200 }));
      let sequence = 0;
      const many = (): Buffer =>
        Buffer.concat(
          Array.from({ length: 200 }, () =>
            framed(signedRequest({ transport: "tcp", bytes: 1200, sequence: sequence++ })),
          ),
        );
      expect(
        (await client!.talk(framed(signedRequest({ transport: "tcp", session: 99 })))).received.length,
      ).toBe(130);
      await client!.counted(() => {
        if (!socket.destroyed && socket.writableLength < frame.length * 400) socket.write(many());
        return closed || (client!.refused["slow_reader"] ?? 0) > 0;
      }, "the hang-up");
      await client!.counted(() => client!.refused["slow_reader"] === 1);
      expect(
        (await client!.talk(framed(signedRequest({ transport: "tcp", session: 98 })))).received.length,
      ).toBe(130);
    });

    test("refuses more connections of one source than a peer can need", async () => {
      await open();
      for (let i = 0; i < 70; i++) connection(client!.tcpPort);
      await client!.counted(() => (client!.refused["too_many_connections"] ?? 0) >= 6, "the refusals");
      expect(client!.refused).toEqual({ too_many_connections: 6 });
    });
  });
});

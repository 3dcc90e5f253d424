import { createHook } from "node:async_hooks";
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { systemClock, systemRandom } from "@isochrone/runtime";
import { ManualClock } from "@isochrone/runtime/testing";
import { describe, expect, it, onTestFinished } from "vitest";

import { Link } from "./kafkajs-wire.ts";
import { resolveOptions } from "../client/options.ts";
import type { KafkaBusOptions } from "../client/options.ts";

const METADATA = { api: "Metadata", args: { topics: ["t"] }, raw: true };
const API_VERSIONS = 18;

class FakeBroker {
  connections = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(onRequest: (socket: Socket, request: Buffer) => void) {
    this.#server = createServer((socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("data", (bytes) => {
        for (let at = 0; at < bytes.length;) {
          const end = at + 4 + bytes.readUInt32BE(at);
          onRequest(socket, bytes.subarray(at, end));
          at = end;
        }
      });
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      for (const socket of this.#sockets) socket.destroy();
      this.#server.close();
    });
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }
}

function link(address: string, more: Partial<KafkaBusOptions> = {}): Link {
  const options = resolveOptions({
    client: "kafkajs",
    brokers: [address],
    clientId: "test",
    clock: systemClock,
    random: systemRandom,
    ...more,
  });
  const made = new Link(address, options);
  onTestFinished(() => made.close());
  return made;
}

/** Advertises versions 0 to 6 of the first 30 request types. */
function versionsAnswer(request: Buffer): Buffer {
  const body = Buffer.alloc(4 + 2 + 4 + 30 * 6 + 4);
  body.writeInt32BE(request.readInt32BE(8), 0);
  body.writeInt32BE(30, 6);
  for (let key = 0; key < 30; key += 1) {
    body.writeInt16BE(key, 10 + key * 6);
    body.writeInt16BE(6, 14 + key * 6);
  }
  const size = Buffer.alloc(4);
  size.writeInt32BE(body.length);
  return Buffer.concat([size, body]);
}

describe("a connection that can't be made", () => {
  it("is not tried anew before a pause, however many ask for it", async () => {
    const clock = new ManualClock();
    const server = new FakeBroker((socket) => socket.destroy());
    const under = link(await server.listen(), { retryInitialMs: 200, retryMaxMs: 5_000, clock });
    let failures = 0;
    for (const tries of [1, 2, 3]) {
      for (let round = 0; round < 10; round += 1) {
        const calls = await Promise.allSettled(Array.from({ length: 50 }, () => under.call(METADATA)));
        failures += calls.filter(({ status }) => status === "rejected").length;
      }
      expect(server.connections).toBe(tries);
      const pauseMs = under.pauseMs;
      const longestMs = 200 * 2 ** (tries - 1);
      expect(pauseMs).toBeGreaterThanOrEqual(longestMs * 0.8);
      expect(pauseMs).toBeLessThanOrEqual(longestMs);
      await clock.advance(pauseMs - 1);
      await Promise.allSettled([under.call(METADATA)]);
      expect(server.connections).toBe(tries);
      await clock.advance(1);
    }
    expect(failures).toBe(3 * 10 * 50);
  });

  it("gives everybody the reason at once", async () => {
    // The clock is frozen: waiting for the end of the pause would take for ever.
    const under = link("127.0.0.1:1", { clock: new ManualClock() });
    for (let call = 0; call < 3; call += 1)
      await expect(under.call(METADATA)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    expect(under.pauseMs).toBeGreaterThan(0);
  });
});

describe("a broker that does not answer", () => {
  it("fails all that wait for it when one has waited too long, and gets a new connection", async () => {
    const server = new FakeBroker((socket, request) => {
      if (request.readInt16BE(4) === API_VERSIONS) socket.write(versionsAnswer(request));
    });
    const under = link(await server.listen(), { requestTimeoutMs: 300 });
    const first = under.call(METADATA);
    await sleep(200);
    const second = under.call(METADATA).catch(() => "rejected");
    await expect(first).rejects.toMatchObject({ name: "KafkaJSRequestTimeoutError" });
    // The second call's own timeout is 200 ms.
    expect(await Promise.race([second, nextTurn("waits")])).toBe("rejected");
    expect(server.connections).toBe(1);
    await expect(under.call(METADATA)).rejects.toMatchObject({ name: "KafkaJSRequestTimeoutError" });
    expect(server.connections).toBe(2);
  });
});

describe("a connection that is being made", () => {
  it("is waited for until its handshake is over, whenever the call comes", async () => {
    const server = new FakeBroker((socket, request) => {
      setTimeout(() => socket.write(versionsAnswer(request)), 100);
    });
    const under = link(await server.listen());
    const unread = { ...METADATA, decode: () => "answered" };
    const first = under.call(unread);
    await sleep(50);
    expect(under.isConnected).toBe(true);
    expect(await Promise.all([first, under.call(unread)])).toEqual(["answered", "answered"]);
    expect(server.connections).toBe(1);
  });
});

describe("the library's timer of waiting requests", () => {
  it("does not run while none waits", async () => {
    const server = new FakeBroker((socket, request) => socket.write(versionsAnswer(request)));
    const under = link(await server.listen());
    const timers = newTimers();
    const unread = { ...METADATA, decode: () => "answered" };
    expect(await Promise.all([under.call(unread), under.call(unread)])).toEqual(["answered", "answered"]);
    await untilSome(() => timers.size <= 1);
    // The timer for request timeouts.
    expect(timers.size).toBe(1);
  });
});

/** Active timers created since the last call; ignores the rest of the process. */
function newTimers(): ReadonlySet<number> {
  const running = new Set<number>();
  const hook = createHook({
    init: (id, type) => void (type === "Timeout" && running.add(id)),
    destroy: (id) => void running.delete(id),
  });
  hook.enable();
  onTestFinished(() => void hook.disable());
  return running;
}

/** Polls for some seconds without a timer. */
async function untilSome(check: () => boolean): Promise<void> {
  for (const deadlineMs = performance.now() + 5_000; !check() && performance.now() < deadlineMs;)
    await nextTurn(null);
}

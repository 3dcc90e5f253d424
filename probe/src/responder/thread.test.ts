import { createSocket } from "node:dgram";
import { afterEach, describe, expect, test } from "vitest";
import { isLibcSupported } from "@isochrone/kernel-sockets";
import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { signedRequest, until } from "../testing/harness.ts";
import { ResponderClient, answererConfig, framed } from "../testing/responder-client.ts";
import { ResponderThread } from "./thread.ts";

const IMPLEMENTATIONS = isLibcSupported() ? (["auto", "node"] as const) : (["node"] as const);
const workerUrl = new URL("../testing/crashing-responder.ts", import.meta.url);

describe.each(IMPLEMENTATIONS)("responder thread on %s sockets", (sockets) => {
  let client: ResponderClient | null = null;
  afterEach(async () => {
    await client?.close();
    client = null;
  });

  test("a thread that dies is started anew with the same ports and keys, and answers again", async () => {
    client = await ResponderClient.open({ sockets, workerUrl });
    const next = { id: 2, secret: Buffer.alloc(32, 3) };
    client.thread.setKeys(1, [next], 2);
    expect((await client.talk(framed(signedRequest({ transport: "tcp", key: next })))).received.length).toBe(
      130,
    );
    const channel = new BroadcastChannel("isochrone-responder-test-crash");
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- not a window
    channel.postMessage("now");
    await until("the death", () => client?.thread.restarts === 1);
    channel.close();
    await until("answers from the same port", () => {
      client?.send(signedRequest({ key: next }));
      return (client?.answers.length ?? 0) > 0;
    });
    expect((await client.talk(framed(signedRequest({ transport: "tcp", key: next })))).received.length).toBe(
      130,
    );
    expect(client.logger.events("error")).toEqual(["responder thread died"]);
  });

  test("a port that is taken is a named error, and the others live on", async () => {
    client = await ResponderClient.open({ sockets });
    const { udpPort, tcpPort, thread } = client;
    await expect(thread.open(2, answererConfig({ udpPort }))).rejects.toMatchObject({
      code: "probe_bind_failed",
      retryable: true,
      message: expect.stringContaining(`UDP port ${udpPort}`),
    });
    await expect(thread.open(3, answererConfig({ tcpPort }))).rejects.toMatchObject({
      code: "probe_bind_failed",
    });
    expect(await client.ask([])).toEqual({});
    expect(thread.restarts).toBe(0);
  });

  test("several responders share the thread, each with its own port, keys and counts; closing one frees its ports", async () => {
    client = await ResponderClient.open({ sockets });
    const second = await client.thread.open(
      2,
      answererConfig({ keys: [{ id: 7, secret: Buffer.alloc(32, 7) }], signingKeyId: 7 }),
    );
    const firstPort = client.udpPort;
    client.udpPort = second.udpPort;
    client.send(signedRequest());
    client.udpPort = firstPort;
    await client.ask([]);
    let refused: Readonly<Record<string, number>> = {};
    await until("the second's count", () => {
      refused = client?.thread.drain(2).refused ?? {};
      return Object.keys(refused).length > 0;
    });
    expect(refused).toEqual({ unknown_key: 1 });
    expect(client.refused).toEqual({});
    await client.thread.close(2);
    const probe = createSocket("udp4");
    await new Promise<void>((resolve) => void probe.bind(second.udpPort, "127.0.0.2", () => resolve()));
    probe.close();
    client.answers.length = 0;
    await client.ask([]);
  });

  test("what was counted until a responder was closed is still to be had afterwards", async () => {
    client = await ResponderClient.open({ sockets });
    for (let i = 0; i < 5; i++) client.send(signedRequest({ sequence: i + 1 }));
    await until("the answers", () => client?.answers.length === 5);
    await client.thread.close(1);
    expect(client.thread.drain(1)).toEqual({ answered: 5, refused: {} });
    expect(client.thread.drain(1)).toEqual({ answered: 0, refused: {} });
  });

  test("a closed thread opens nothing", async () => {
    const closed = new ResponderThread({ clock: systemClock, logger: new MemoryLogger(), sockets });
    await closed.closeAll();
    await expect(closed.open(1, answererConfig())).rejects.toMatchObject({ code: "probe_thread_closed" });
  });
});

test("a thread that can't live gives up the responder that never opened, with the cause", async () => {
  const logger = new MemoryLogger();
  const broken = new URL("data:text/javascript,throw new Error('no such thing')");
  const thread = new ResponderThread({ clock: systemClock, logger, workerUrl: broken });
  await expect(thread.open(1, answererConfig())).rejects.toMatchObject({
    code: "probe_thread_failed",
    message: expect.stringContaining("died 3 times"),
  });
  await thread.closeAll();
});

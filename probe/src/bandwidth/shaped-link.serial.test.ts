import { spawn, type ChildProcess } from "node:child_process";
import { isLibcSupported } from "@isochrone/kernel-sockets";
import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAddress } from "../domain/ip.ts";
import type { BurstOutcome } from "./burst.ts";
import { createShapedLink, whyNoShapedLink, type ShapedLink } from "./testing/shaped-link.ts";
import { ReceiverThread, sendTest } from "./threads.ts";

const KEY = { id: 1, secret: Buffer.alloc(32, 3) };
const MAX_BYTES = 200e6;
const ATTEMPTS = 10;
/** Result of a burst on a starved machine; it says nothing about the link. */
const HOST_STOOD_STILL = "the own host stood still too often to send evenly";

const reason = isLibcSupported() ? whyNoShapedLink() : "kernel sockets need 64-bit Linux";
if (reason !== null) console.log(`bandwidth on a shaped link is skipped: ${reason}`);

describe.skipIf(reason !== null)("bandwidth on a shaped link", { retry: 1 }, () => {
  let link: ShapedLink;
  let receiver: ReceiverThread;
  let port = 0;

  beforeAll(async () => {
    link = createShapedLink();
    receiver = new ReceiverThread(
      {
        bindAddress: "0.0.0.0",
        port: 0,
        identity: link.far.address,
        keys: [KEY],
        acceptTranslatedSource: false,
        maxBytes: MAX_BYTES,
        maxMs: 10_000,
        networkNamespace: link.far.path,
      },
      { clock: systemClock, logger: new MemoryLogger(), onCounts: () => undefined },
    );
    port = await receiver.open();
  });

  afterAll(async () => {
    await receiver?.close();
    link?.remove();
  });

  async function measure(transport: "udp" | "tcp"): Promise<BurstOutcome> {
    const result = await sendTest(
      {
        transport,
        address: link.far.address,
        port,
        source: parseAddress(link.near.address)!,
        destination: parseAddress(link.far.address)!,
        bindAddress: "0.0.0.0",
        keys: [KEY],
        signingKeyId: 1,
        maxBytes: MAX_BYTES,
        maxBitsPerSecond: 10e9,
        maxDurationMs: 1800,
        maxQueueMs: 25,
        dscp: 0,
        networkNamespace: link.near.path,
      },
      systemClock,
      new AbortController().signal,
    );
    if (result.type !== "done") throw new Error(JSON.stringify(result));
    return result.outcome;
  }

  async function measureUntilTold(transport: "udp" | "tcp"): Promise<BurstOutcome[]> {
    const outcomes: BurstOutcome[] = [];
    while (outcomes.length < ATTEMPTS && outcomes.at(-1)?.result !== "ok")
      outcomes.push(await measure(transport));
    return outcomes;
  }

  test.for([
    ["udp", 10, 32],
    ["udp", 10, 256],
    ["udp", 100, 32],
    ["udp", 100, 256],
    ["tcp", 10, 32],
    ["tcp", 100, 256],
  ] as const)(
    "%s, %d Mbit/s, bucket of %d KiB: within 3 %, in less than 2 s",
    async ([transport, rateMbit, burstKb], context) => {
      link.shape({ rateMbit, burstKb });
      const outcomes = await measureUntilTold(transport);
      for (const { durationMs, bytes } of outcomes) {
        expect(durationMs).toBeLessThan(2000);
        expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
      }
      context.skip(
        outcomes.every(({ reason: said }) => said === HOST_STOOD_STILL),
        `in each of ${ATTEMPTS} bursts ${HOST_STOOD_STILL}`,
      );
      expect(outcomes.at(-1)).toMatchObject({ result: "ok", reason: "", limit: "link" });
      const rate = outcomes.at(-1)?.achievedBitsPerSecond ?? 0;
      expect(rate).toBeGreaterThan(rateMbit * 0.97e6);
      expect(rate).toBeLessThan(rateMbit * 1.03e6);
    },
  );

  test.each([10, 100])(
    "a stream that fills the link of %d Mbit/s is noticed, and hardly disturbed",
    async (rateMbit) => {
      link.shape({ rateMbit, burstKb: 32 });
      const sink = inNamespace(link.far.name, SINK);
      const stream = inNamespace(link.near.name, STREAM, link.far.address);
      try {
        await systemClock.sleep(2500);
        expect(link.sentBytes()).toBeGreaterThan(rateMbit * 125_000);
        const outcome = await measure("udp");
        expect(outcome).toMatchObject({ result: "skipped_busy", achievedBitsPerSecond: null });
        // Bytes sent, against what the link carried meanwhile. The small packets alone take 400 ms.
        const carriedBytes = ((outcome.durationMs + 400) / 1000) * rateMbit * 125_000;
        expect(outcome.bytes / carriedBytes).toBeLessThan(0.05);
      } finally {
        await Promise.all([stop(stream), stop(sink)]);
      }
    },
  );
});

const SINK = `require("node:net").createServer((s) => s.resume()).listen(7999)`;
const STREAM = `
  const block = Buffer.alloc(65536);
  const start = () => {
    const socket = require("node:net").connect(7999, process.argv[1]);
    const write = () => { while (socket.write(block)); };
    socket.on("connect", write); socket.on("drain", write);
    socket.on("error", () => setTimeout(start, 50));
  };
  start();
`;

function inNamespace(name: string, script: string, ...args: string[]): ChildProcess {
  return spawn("ip", ["netns", "exec", name, process.execPath, "-e", script, ...args], { stdio: "ignore" });
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  if (child.exitCode === null && child.signalCode === null) await ended;
}

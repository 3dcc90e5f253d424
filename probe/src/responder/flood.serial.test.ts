import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { isLibcSupported } from "@isochrone/kernel-sockets";
import { signedRequest, until } from "../testing/harness.ts";
import { ResponderClient, answererConfig } from "../testing/responder-client.ts";

const RATE = 100_000;
const FLOOD_MS = 3000;
const ASKED = 200;
const MEMORY_BOUND = 200 * 1024 * 1024;

interface Flood {
  readonly total: number;
  readonly elapsedMs: number;
  readonly sent: Readonly<Record<string, number>>;
}

describe.runIf(isLibcSupported())("echo responder under a flood of hostile packets", () => {
  let client: ResponderClient | null = null;
  afterEach(async () => {
    await client?.close();
    client = null;
  });

  test("peers are answered without a loss, a new one gets in, others of the thread don't notice, all is counted", async () => {
    const responder = (client = await ResponderClient.open({}, { responderPacketsPerSecond: 1000 }));
    const neighbour = await responder.thread.open(2, answererConfig());
    await responder.ask([signedRequest({ sequence: 2 })]);
    const memoryBefore = process.memoryUsage().rss;
    const flood = startFlood(responder.udpPort, signedRequest({ sequence: 1 }));
    await until("the flood", () => {
      responder.drain();
      return responder.refusedSum() > 1000;
    });
    responder.answers.length = 0;
    for (let i = 0; i < ASKED; i++) {
      responder.send(signedRequest({ sequence: 1000 + i }));
      if (i % 10 === 0) askNeighbour(responder, neighbour.udpPort, i);
      // An unknown flow, like a new peer's: it may need several tries.
      if (i % 4 === 0) responder.send(signedRequest({ sequence: 500_000 + i, session: 4242 }));
      await delay(5);
    }
    const { total, elapsedMs, sent } = await flood;
    const memoryGrowth = process.memoryUsage().rss - memoryBefore;
    await until("the answers", () => answersFrom(responder, 1000, 1200) === ASKED);
    expect(answersFrom(responder, 700_000, 700_000 + ASKED)).toBe(ASKED / 10);
    expect(answersFrom(responder, 500_000, 500_200)).toBeGreaterThan(0);
    await settled(responder);
    const counted = responder.answered + responder.refusedSum();
    const own = 2 + ASKED + ASKED / 4;
    print({
      perSecond: Math.round(total / (elapsedMs / 1000)),
      total,
      sent,
      answered: responder.answered,
      refused: responder.refused,
      counted,
      memoryGrowth,
    });
    expect(memoryGrowth).toBeLessThan(MEMORY_BOUND);
    // A loopback packet is answered, refused, or dropped at the socket.
    expect(counted).toBe(total + own);
    expect(responder.refused["kernel_dropped"]).toBeGreaterThanOrEqual(sent["garbage"]! + sent["malformed"]!);
    expect(responder.thread.restarts).toBe(0);
  });

  test("50,000 strangers a second with signatures to verify keep out no known peer, and at most 5 of 100 new ones", async () => {
    const responder = (client = await ResponderClient.open({}, { responderPacketsPerSecond: 1000 }));
    await responder.ask([signedRequest({ sequence: 2 })]);
    const options = { perSecond: 50_000, kind: "wrong_hmac" };
    const flood = startFlood(responder.udpPort, signedRequest({ sequence: 1 }), options);
    await until("the flood", () => {
      responder.drain();
      return responder.refusedSum() > 1000;
    });
    responder.answers.length = 0;
    const known = (async () => {
      for (let i = 0; i < 100; i++) {
        responder.send(signedRequest({ sequence: 1000 + i }));
        await delay(5);
      }
    })();
    await Promise.all([known, askNewPeers(responder, 500_000, 100)]);
    const { total, elapsedMs } = await flood;
    await settled(responder);
    const newPeers = answersFrom(responder, 500_000, 500_100);
    print({ perSecond: Math.round(total / (elapsedMs / 1000)), newPeers, refused: responder.refused });
    expect(answersFrom(responder, 1000, 1100)).toBe(100);
    expect(newPeers).toBeGreaterThanOrEqual(95);
  });
});

interface FloodOptions {
  readonly perSecond?: number;
  readonly kind?: string;
}

/** Asks each unanswered peer up to three times, as a new probe does. */
async function askNewPeers(responder: ResponderClient, from: number, count: number): Promise<void> {
  for (let attempt = 0; attempt < 3; attempt++) {
    const answered = new Set(responder.answers.map((answer) => answer.readUInt32BE(24)));
    for (let i = from; i < from + count; i++) {
      if (answered.has(i)) continue;
      responder.send(signedRequest({ sequence: i, session: i }));
      await delay(3);
    }
  }
}

function startFlood(
  port: number,
  captured: Buffer,
  { perSecond = RATE, kind }: FloodOptions = {},
): Promise<Flood> {
  const file = fileURLToPath(new URL("../testing/flood.ts", import.meta.url));
  const args = [file, String(port), String(perSecond), String(FLOOD_MS), captured.toString("hex")];
  if (kind !== undefined) args.push(kind);
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((resolve, reject) => {
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(JSON.parse(output) as Flood);
      else reject(new Error(`the flood ended with code ${code}`));
    });
  });
}

function askNeighbour(responder: ResponderClient, port: number, i: number): void {
  const { udpPort } = responder;
  responder.udpPort = port;
  responder.send(signedRequest({ sequence: 700_000 + i, session: 5 }));
  responder.udpPort = udpPort;
}

function answersFrom({ answers }: ResponderClient, from: number, to: number): number {
  const sequences = answers
    .map((answer) => answer.readUInt32BE(24))
    .filter((sequence) => sequence >= from && sequence < to);
  return new Set(sequences).size;
}

async function settled(responder: ResponderClient): Promise<void> {
  for (let before = -1, now = 0; now !== before;) {
    before = now;
    await delay(300);
    responder.drain();
    now = responder.answered + responder.refusedSum();
  }
}

function print(result: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`flood: ${JSON.stringify(result)}\n`);
}

import { randomBytes } from "node:crypto";

import { seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { beforeEach, expect, test } from "vitest";

import { BufferedPublisher } from "../buffered-publisher.ts";
import { ScriptedBus } from "../testing/scripted-bus.ts";
import { RecordKeyClient } from "./record-key-client.ts";
import { MacKey } from "./record-mac.ts";
import { SealChecker } from "./seal-checker.ts";
import { sealedPublisher } from "./sealed-bus.ts";

const TOPIC = "isochrone.probe.v1";
const SPEAKER = { kind: "node", node: "node-a" } as const;
const master = new MacKey(Buffer.alloc(32, 1));
const MASTERS = new Map([[1, master]]);
const GOOD = { speaker: "node/node-a", keyId: 1, key: master.derive("node/node-a").reveal() };

let clock: ManualClock;
let logger: MemoryLogger;
let asked: { url: string; etag: string | undefined }[];
/** The aggregator's answer; an Error: it is unreachable. */
let answer: { status: number; body: string; etag?: string } | Error;

beforeEach(() => {
  clock = new ManualClock();
  logger = new MemoryLogger();
  asked = [];
  answer = new Error("connection refused");
});

function client(): RecordKeyClient {
  return new RecordKeyClient({
    aggregatorUrl: "https://aggregator:8080/",
    speaker: SPEAKER,
    clock,
    random: seededRandom(1),
    logger,
    fetch: async (url, init = {}) => {
      asked.push({ url, etag: (init.headers as Record<string, string>)["if-none-match"] });
      if (answer instanceof Error) throw answer;
      const { status, body, etag } = answer;
      return new Response(status === 304 ? null : body, {
        status,
        headers: etag === undefined ? {} : { etag },
      });
    },
  });
}

test("records wait in their buffer until the aggregator gives the key, and then go out sealed", async () => {
  const bus = new ScriptedBus();
  const keys = client();
  await keys.start();
  const sealed = sealedPublisher(
    { publish: (topic, records) => bus.publish(topic, records), partitionCount: async () => 4 },
    () => keys.current(),
  );
  const dropped: string[] = [];
  const publisher = new BufferedPublisher({
    publisher: sealed,
    source: "probe/node-a",
    clock,
    random: seededRandom(2),
    onDropped: (reason) => dropped.push(reason),
  });
  publisher.offer(TOPIC, "node-a", Buffer.from("first"));
  await clock.advance(30_000);
  expect(bus.taken).toEqual([]);
  expect(publisher.pending).toBe(1);
  answer = { status: 200, body: JSON.stringify(GOOD) };
  await clock.advance(90_000);
  expect(bus.texts()).toEqual(["first"]);
  const { record } = bus.taken[0]!;
  const checker = new SealChecker({ masters: () => MASTERS });
  const places = [0, 1, 2, 3].map((partition) => checker.check({ topic: TOPIC, partition }, record));
  expect(places).toContainEqual(SPEAKER);
  expect(dropped).toEqual([]);
  await publisher.close();
  await keys.stop();
});

test("asks for its own speaker, again every five minutes, and says which answer it has", async () => {
  answer = { status: 200, body: JSON.stringify(GOOD), etag: '"one"' };
  const keys = client();
  await keys.start();
  await clock.advance(0);
  expect(asked).toEqual([{ url: "https://aggregator:8080/api/v1/record-key/node-a", etag: undefined }]);
  expect(keys.current()).toMatchObject({ speaker: "node/node-a", keyId: 1 });
  answer = { status: 304, body: "" };
  await clock.advance(300_000);
  expect(asked[1]?.etag).toBe('"one"');
  expect(keys.current().keyId).toBe(1);
  answer = { status: 200, body: JSON.stringify({ ...GOOD, keyId: 2 }), etag: '"two"' };
  await clock.advance(300_000);
  expect(keys.current().keyId).toBe(2);
  await keys.stop();
});

test("keeps its key while the aggregator is away, and does not hammer it", async () => {
  answer = { status: 200, body: JSON.stringify(GOOD) };
  const keys = client();
  await keys.start();
  await clock.advance(0);
  answer = new Error("connection refused");
  await clock.advance(3_600_000);
  expect(keys.current().keyId).toBe(1);
  expect(asked.length).toBeGreaterThan(50);
  expect(asked.length).toBeLessThan(140);
  await keys.stop();
});

test.each([
  ["another speaker", { ...GOOD, speaker: "node/node-b" }],
  ["no key id", { ...GOOD, keyId: 0 }],
  ["a key id that is no whole number", { ...GOOD, keyId: 1.5 }],
  ["a short key", { ...GOOD, key: "AAAA" }],
  ["a key that is too long", { ...GOOD, key: `${GOOD.key}A` }],
  ["nothing", null],
])("does not take an answer with %s, and shows nothing of it", async (_, body) => {
  answer = { status: 200, body: JSON.stringify(body) };
  const keys = client();
  await keys.start();
  await clock.advance(0);
  expect(() => keys.current()).toThrow("the aggregator has not given the record key of node/node-a yet");
  expect(logger.lines.map(({ level }) => level)).toEqual(["warn"]);
  expect(JSON.stringify(logger.lines)).not.toContain(GOOD.key);
  await keys.stop();
});

test("does not read an answer without end", async () => {
  answer = { status: 200, body: randomBytes(10_000).toString("hex") };
  const keys = client();
  await keys.start();
  await clock.advance(0);
  expect(() => keys.current()).toThrow(/has not given/);
  await keys.stop();
});

import type { Bus, BusRecord } from "@isochrone/bus";
import { createMemoryBus } from "@isochrone/bus/memory";
import type { MemoryBus } from "@isochrone/bus/testing";
import { createRegistry } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { STATE_TOPICS } from "@isochrone/telemetry";
import { beforeEach, expect, test } from "vitest";
import { DeadLetters } from "./dead-letters.ts";
import { createDeadLetterCounter, type DeadLetterCounter } from "./intake-metrics.ts";

let clock: ManualClock;
let bus: MemoryBus;
let counter: DeadLetterCounter;
let isLeader: boolean;

beforeEach(() => {
  clock = new ManualClock();
  bus = createMemoryBus({ clock, partitions: 1 });
  counter = createDeadLetterCounter(createRegistry());
  isLeader = true;
});

function lettersOn(to: Pick<Bus, "publish">): DeadLetters {
  const leadership = { isLeader: () => isLeader };
  return new DeadLetters({ bus: to as Bus, clock, logger: new MemoryLogger(), counter, leadership });
}

function recordOf(offset: number, bytes = 10): BusRecord {
  const value = new Uint8Array(bytes).fill(7);
  return { topic: "isochrone.usage.v1", partition: 3, offset, key: "a", value, headers: {}, appendedAtMs: 0 };
}

async function published(): Promise<BusRecord[]> {
  const records: BusRecord[] = [];
  const subscription = await bus.subscribe({
    topics: [STATE_TOPICS.deadLetter],
    from: "earliest",
    onBatch: async (batch) => void records.push(...batch.records),
  });
  for (let turn = 0; turn < 5; turn++) await clock.advance(0);
  await subscription.close();
  return records;
}

async function results(): Promise<Record<string, number>> {
  const { values } = await counter.get();
  return Object.fromEntries(values.map(({ labels, value }) => [labels["result"], value]));
}

test("a letter says why and where, and keeps the beginning", async () => {
  lettersOn(bus).offer(recordOf(42, 100_000), "malformed");
  await clock.advance(0);
  const [letter] = await published();
  expect(letter!.headers).toEqual({
    "isochrone-reason": "malformed",
    "isochrone-topic": "isochrone.usage.v1",
    "isochrone-partition": "3",
    "isochrone-offset": "42",
    "isochrone-size": "100000",
  });
  expect(letter!.value).toHaveLength(65_536);
});

test("only the leader writes letters", async () => {
  const letters = lettersOn(bus);
  isLeader = false;
  letters.offer(recordOf(1), "malformed");
  await clock.advance(0);
  expect([await published(), await results()]).toEqual([[], {}]);
});

test("a flood is kept in part, and counted in full", async () => {
  const letters = lettersOn(bus);
  for (let offset = 0; offset < 1000; offset++) {
    letters.offer(recordOf(offset), "malformed");
    await clock.advance(1);
  }
  const counts = await results();
  expect(counts["published"]).toBeLessThan(60);
  expect(counts["published"]! + counts["suppressed"]!).toBe(1000);
  await clock.advance(10_000);
  letters.offer(recordOf(1000), "malformed");
  await clock.advance(0);
  expect((await results())["published"]).toBe(counts["published"]! + 1);
});

test("a bus that is away is not waited for", async () => {
  const letters = lettersOn({ publish: () => new Promise(() => undefined) });
  for (let offset = 0; offset < 90; offset++) letters.offer(recordOf(offset), "malformed");
  expect(await results()).toEqual({ suppressed: 40 });
  // Later the rate allows more, but the limit of open publishes is reached.
  await clock.advance(10_000);
  letters.offer(recordOf(90), "malformed");
  expect(await results()).toEqual({ suppressed: 41 });
  const failing = lettersOn({ publish: () => Promise.reject(new Error("away")) });
  failing.offer(recordOf(1), "malformed");
  await clock.advance(0);
  expect(await results()).toMatchObject({ failed: 1 });
});

import { ManualClock } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { LinkQueue } from "./link-queue.ts";
import type { QueueClass } from "./node-rules.ts";

const MEGABIT = 1e6;
/** 1,000 of them are 8 Mbit. */
const BYTES = 1_000;

const queueClass = (minor: number, fields: Partial<QueueClass> = {}): QueueClass => ({
  minor,
  parent: null,
  rateBitsPerSecond: MEGABIT,
  ceilBitsPerSecond: MEGABIT,
  priority: 0,
  ...fields,
});

function build(bitsPerSecond: number, classes: readonly QueueClass[]) {
  const clock = new ManualClock();
  const sent: number[] = [];
  const queue = new LinkQueue<{ bytes: number; flow: number }>({
    bitsPerSecond,
    clock,
    onSent: ({ flow }) => void sent.push(flow),
  });
  queue.setClasses(classes);
  const put = (flow: number, packets: number): void => {
    for (let at = 0; at < packets; at++) queue.put({ bytes: BYTES, flow }, flow);
  };
  const rates = async (...flows: readonly number[]): Promise<number[]> => {
    sent.length = 0;
    for (let ms = 0; ms < 1_000; ms++) await clock.advance(1);
    return flows.map((flow) => sent.filter((each) => each === flow).length);
  };
  return { clock, queue, put, rates };
}

test("what has no class leaves at the link's capacity", async () => {
  const { put, rates } = build(2 * MEGABIT, []);
  put(7, 2_000);
  expect(await rates(7)).toEqual([expect.closeTo(250, -0.5)]);
});

test("a class keeps to its ceil, and others have the rest of the link", async () => {
  const { put, rates } = build(8 * MEGABIT, [
    queueClass(1),
    queueClass(2, { ceilBitsPerSecond: 8 * MEGABIT }),
  ]);
  put(1, 2_000);
  put(2, 2_000);
  const [capped, other] = await rates(1, 2);
  expect(capped!).toBeGreaterThan(120);
  expect(capped!).toBeLessThan(130);
  expect(capped! + other!).toBeGreaterThan(990);
});

test("a floor is kept against a class that would take the whole link", async () => {
  const whole = { ceilBitsPerSecond: 8 * MEGABIT, parent: 100 };
  const { put, rates } = build(80 * MEGABIT, [
    queueClass(100, { rateBitsPerSecond: 8 * MEGABIT, ceilBitsPerSecond: 8 * MEGABIT }),
    queueClass(1, { ...whole, rateBitsPerSecond: 6 * MEGABIT }),
    queueClass(2, { ...whole, rateBitsPerSecond: 2 * MEGABIT, priority: 7 }),
  ]);
  put(1, 3_000);
  put(2, 3_000);
  const [floor, greedy] = await rates(1, 2);
  expect(floor! / greedy!).toBeGreaterThan(2.8);
  expect(floor! / greedy!).toBeLessThan(3.2);
  // The parent class keeps to its own ceil.
  expect(floor! + greedy!).toBeLessThan(1_060);
});

test("packets of a class that is taken away go on, and a new class counts from 0", async () => {
  const { queue, put, rates } = build(8 * MEGABIT, [queueClass(1)]);
  put(1, 2_000);
  expect((await rates(1))[0]).toBeLessThan(150);
  queue.setClasses([]);
  expect((await rates(1))[0]).toBeGreaterThan(900);
  queue.setClasses([queueClass(1)]);
  expect(queue.counters().get(1)).toEqual({ sentBytes: 0, droppedPackets: 0, queuedPackets: 0 });
});

test("a link that gets slower is slower at once", async () => {
  const { queue, put, rates } = build(8 * MEGABIT, []);
  put(0, 5_000);
  const [before] = await rates(0);
  queue.setCapacity(2 * MEGABIT);
  const [after] = await rates(0);
  expect(before! / after!).toBeGreaterThan(3.5);
});

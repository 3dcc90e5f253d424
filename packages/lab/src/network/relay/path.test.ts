import { seededRandom } from "@isochrone/runtime";
import { expect, test } from "vitest";
import { IDEAL_LINK, oneWayLossRatio } from "../links.ts";
import { DelayQueue } from "./delay-queue.ts";
import { Path } from "./path.ts";

const path = (change: Partial<typeof IDEAL_LINK>, random = seededRandom(1)): Path =>
  new Path({ ...IDEAL_LINK, ...change }, random);

test("the jitter of a way is at most half of the round trip's, up and down", () => {
  const way = path({ rttMs: 20, jitterMs: 4 });
  const delays = Array.from({ length: 2000 }, () => way.admitPacket(0, 100)! - 100);
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(8);
  expect(Math.max(...delays)).toBeLessThanOrEqual(12);
  expect(Math.max(...delays) - Math.min(...delays)).toBeGreaterThan(3.9);
});

test("a delay is never negative", () => {
  const way = path({ rttMs: 1, jitterMs: 50 });
  expect(Math.min(...Array.from({ length: 500 }, () => way.admitPacket(0, 100)!))).toBe(100);
});

test("packets wait for each other on the wire, and no longer than it is busy", () => {
  const way = path({ bandwidthBitsPerSecond: 8000 });
  expect([way.admitPacket(10, 0), way.admitPacket(5, 0), way.admitPacket(5, 100)]).toEqual([10, 15, 105]);
});

test("the bandwidth bounds a transfer, whose chunks wait for each other", () => {
  const way = path({ rttMs: 2, bandwidthBitsPerSecond: 20e6 });
  const dueMs = Array.from({ length: 16 }, () => way.admitChunk(62_500, 0, 2).dueMs);
  // 8 Mbit at 20 Mbit/s, plus half of the round trip.
  expect(dueMs.at(-1)).toBe(401);
  expect(dueMs[0]).toBe(26);
});

test("bytes under way are bounded, and free again when they have left", () => {
  const way = path({ rttMs: 10 });
  const half = 2 * 1024 * 1024;
  expect([way.admitPacket(half, 0), way.admitPacket(half, 0), way.admitPacket(1, 0)]).toEqual([5, 5, null]);
  way.left(half);
  expect(way.admitPacket(1, 0)).toBe(5);
});

test("every loss of a chunk doubles the wait for the next attempt", () => {
  const draws = [0.5, 0.1, 0.1, 0.9];
  const way = path({ rttMs: 300, lossRatio: 0.75 }, { next: () => draws.shift()! });
  // One direction of 0.75 is 0.5; two losses at a timeout of 2 x 300 ms.
  expect(way.admitChunk(100, 0)).toEqual({ dueMs: 150 + 600 + 1200, retransmissions: 2 });
});

test.each([
  [0, 0],
  [0.75, 0.5],
  [1, 1],
])("a round trip that loses %d loses %d each way", (roundTrip, oneWay) => {
  expect(oneWayLossRatio(roundTrip)).toBe(oneWay);
});

test("who waits for healing is called once, with the time, unless it gave up", () => {
  const way = path({ cut: true });
  const calls: string[] = [];
  way.onceHealed((nowMs) => calls.push(`first ${nowMs}`));
  way.onceHealed(() => calls.push("second"))();
  way.change({ ...IDEAL_LINK, cut: true }, 1);
  way.change({ ...IDEAL_LINK, lossRatio: 1 }, 2);
  way.change(IDEAL_LINK, 3);
  way.change(IDEAL_LINK, 4);
  expect(calls).toEqual(["first 3"]);
});

test("the queue runs in order of time, then of adding, and never early", () => {
  let nowMs = 0;
  const wakes: number[] = [];
  const queue = new DelayQueue(() => nowMs, { wakeAt: (timeMs) => wakes.push(timeMs) });
  const random = seededRandom(2);
  const ran: { dueMs: number; i: number }[] = [];
  for (let i = 0; i < 500; i++) {
    const dueMs = 1 + Math.floor(random.next() * 50);
    queue.add(dueMs, () => ran.push({ dueMs, i }));
  }
  expect(ran).toEqual([]);
  for (nowMs = 1; nowMs <= 50; nowMs++) {
    queue.drain();
    expect(ran.every(({ dueMs }) => dueMs <= nowMs)).toBe(true);
  }
  expect(ran).toEqual(ran.toSorted((a, b) => a.dueMs - b.dueMs || a.i - b.i));
  expect(ran.length).toBe(500);
  expect(queue.size).toBe(0);
});

test("what is added by something that runs is run in its turn", () => {
  const ran: string[] = [];
  const queue = new DelayQueue(() => 10, { wakeAt: () => undefined });
  queue.add(5, () => {
    queue.add(4, () => ran.push("inner"));
    ran.push("outer");
  });
  expect(ran).toEqual(["outer", "inner"]);
});

test("what waits for a handshake doesn't hold up what enters meanwhile", () => {
  const way = path({ rttMs: 200, bandwidthBitsPerSecond: 1e9 });
  for (let connection = 0; connection < 50; connection++) {
    expect(way.admitChunk(1250, connection, connection + 200).dueMs).toBeCloseTo(connection + 300, 1);
  }
  expect(way.admitPacket(125, 50)).toBeCloseTo(150, 1);
});

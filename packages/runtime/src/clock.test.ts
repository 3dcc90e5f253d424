import { seeded } from "@isochrone/primitives";
import { expect, test } from "vitest";
import { seededRandom } from "./random.ts";
import { systemClock, systemRandom } from "./system.ts";
import { ManualClock } from "./testing/index.ts";

test("sleeps of a manual clock end in the order of their due times, equal ones in the order of their start", async () => {
  const clock = new ManualClock(1000);
  const log: string[] = [];
  const sleep = async (name: string, ms: number): Promise<void> => {
    await clock.sleep(ms);
    log.push(`${name}@${clock.now()}`);
  };
  const all = [sleep("c", 30), sleep("a", 10), sleep("b1", 20), sleep("b2", 20)];
  await clock.advance(25);
  expect(log).toEqual(["a@1010", "b1@1020", "b2@1020"]);
  expect(clock.pending).toBe(1);
  await clock.advance(5);
  await Promise.all(all);
  expect(clock.now()).toBe(1030);
  expect(clock.monotonic()).toBe(30);
});

test("code that sleeps again during an advance is woken within it", async () => {
  const clock = new ManualClock();
  const seen: number[] = [];
  const loop = (async () => {
    for (let i = 0; i < 3; i++) {
      await clock.sleep(10);
      seen.push(clock.monotonic());
    }
  })();
  await clock.advance(100);
  await loop;
  expect(seen).toEqual([10, 20, 30]);
});

test("a step of the wall time moves neither the monotonic time nor sleeps", async () => {
  const clock = new ManualClock(0);
  const sleeping = clock.sleep(10);
  clock.stepWall(-5000);
  expect([clock.now(), clock.monotonic(), clock.pending]).toEqual([-5000, 0, 1]);
  await clock.advance(10);
  await sleeping;
});

for (const [name, clock] of [
  ["the system's", systemClock],
  ["a manual", new ManualClock()],
] as const) {
  test(`an aborted sleep of ${name} clock rejects with the signal's own reason`, async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const sleeping = clock.sleep(60_000, controller.signal);
    controller.abort(reason);
    await expect(sleeping).rejects.toBe(reason);
    await expect(clock.sleep(1, controller.signal)).rejects.toBe(reason);
  });
}

test("the system's clock tells the time and sleeps", async () => {
  const before = systemClock.monotonic();
  await systemClock.sleep(5);
  expect(systemClock.monotonic() - before).toBeGreaterThanOrEqual(4);
  expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1000);
  expect(systemRandom.next()).toBeLessThan(1);
});

test("seeded numbers are those of the seed's draw", () => {
  const random = seededRandom(42);
  const draw = seeded(42);
  for (let i = 0; i < 10; i++) expect(random.next()).toBe(draw());
});

test("seeded numbers are uniform in [0, 1)", () => {
  const random = seededRandom(7);
  const buckets = Array.from({ length: 10 }, () => 0);
  for (let i = 0; i < 10_000; i++) {
    const index = Math.floor(random.next() * 10);
    buckets[index] = (buckets[index] ?? 0) + 1;
  }
  for (const count of buckets) expect(Math.abs(count - 1000)).toBeLessThan(150);
});

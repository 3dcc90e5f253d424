import { expect, test } from "vitest";
import { LeastTime } from "./least-time.ts";

test("is what the step takes at the least, whatever it took at a cold start or when the processor was away", () => {
  const time = new LeastTime();
  expect(time.ms).toBe(0);
  time.add(1);
  expect(time.ms).toBe(1);
  for (let i = 0; i < 100; i++) {
    time.add(i % 5 === 0 ? 10 : 0.002);
    time.add(0.003);
  }
  expect(time.ms).toBe(0.002);
});

test("forgets what was faster once than it has been lately", () => {
  const time = new LeastTime();
  time.add(0.001);
  for (let i = 0; i < 15; i++) time.add(0.03);
  expect(time.ms).toBe(0.001);
  time.add(0.04);
  expect(time.ms).toBe(0.03);
});

test("is 0 while all samples may have been slow", () => {
  const time = new LeastTime(3);
  for (const known of [0, 0, 8]) {
    time.add(8);
    expect(time.ms).toBe(known);
  }
});

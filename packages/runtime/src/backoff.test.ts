import { expect, test } from "vitest";
import { DEFAULT_BACKOFF, delayMs, retry, shouldRetry } from "./backoff.ts";
import { CodedError } from "./errors.ts";
import { seededRandom } from "./random.ts";
import { ManualClock } from "./testing/index.ts";

const policy = { initialMs: 100, maxMs: 1000, factor: 2, jitterRatio: 0, maxAttempts: 3 };
const random = { next: () => 0.5 };

test("delays grow by the factor up to the maximum", () => {
  expect([1, 2, 3, 4, 5, 6].map((attempt) => delayMs(policy, attempt, random))).toEqual([
    100, 200, 400, 800, 1000, 1000,
  ]);
});

test("a delay is finite after any number of failures", () => {
  expect(delayMs(policy, 1_000_000, random)).toBe(1000);
});

test("jitter shortens a delay by at most its share", () => {
  const seeded = seededRandom(1);
  const delays = Array.from({ length: 500 }, () => delayMs({ ...policy, jitterRatio: 0.5 }, 1, seeded));
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(50);
  expect(Math.min(...delays)).toBeLessThan(55);
  expect(Math.max(...delays)).toBeLessThanOrEqual(100);
  expect(Math.max(...delays)).toBeGreaterThan(95);
});

test("the last attempt and an error that says so are not tried again", () => {
  expect(shouldRetry(policy, 2, new Error("x"))).toBe(true);
  expect(shouldRetry(policy, 3, new Error("x"))).toBe(false);
  expect(shouldRetry(policy, 1, new CodedError("a", "x"))).toBe(false);
  expect(shouldRetry(policy, 1, new CodedError("a", "x", { retryable: true }))).toBe(true);
  expect(shouldRetry(DEFAULT_BACKOFF, 1e9, new Error("x"))).toBe(true);
});

test("retry waits between tries and gives the first success", async () => {
  const clock = new ManualClock();
  const tries: number[] = [];
  const delays: number[] = [];
  const result = retry({
    clock,
    random,
    policy,
    onRetry: (_error, _attempt, ms) => delays.push(ms),
    run: async (attempt) => {
      tries.push(clock.monotonic());
      if (attempt < 3) throw new Error("not yet");
      return "done";
    },
  });
  await clock.advance(1000);
  expect(await result).toBe("done");
  expect(tries).toEqual([0, 100, 300]);
  expect(delays).toEqual([100, 200]);
});

test("retry gives up with the last error", async () => {
  const clock = new ManualClock();
  const result = retry({
    clock,
    random,
    policy,
    run: (attempt) => Promise.reject(new Error(`try ${attempt}`)),
  });
  const outcome = result.catch((error: unknown) => error);
  await clock.advance(10_000);
  expect(await outcome).toMatchObject({ message: expect.stringContaining("try 3") });
});

test("an abort ends the wait with the signal's reason", async () => {
  const clock = new ManualClock();
  const controller = new AbortController();
  const options = { clock, random, policy, signal: controller.signal };
  const result = retry({ ...options, run: () => Promise.reject(new Error("x")) });
  const outcome = result.catch((error: unknown) => error);
  await clock.advance(10);
  controller.abort(new Error("stopping"));
  expect(await outcome).toMatchObject({ message: expect.stringContaining("stopping") });
  expect(clock.pending).toBe(0);
});

import { expect, test } from "vitest";
import { withDeadline } from "./deadline.ts";
import { ManualClock } from "./testing/index.ts";

test("work that ends in time gives its result and leaves no timer", async () => {
  const clock = new ManualClock();
  expect(await withDeadline(clock, 100, "work", async () => 42)).toBe(42);
  expect(clock.pending).toBe(0);
});

test("work that is late is aborted and named", async () => {
  const clock = new ManualClock();
  let reason: unknown;
  const result = withDeadline(clock, 100, "flush", (signal) => {
    signal.addEventListener("abort", () => (reason = signal.reason));
    return new Promise(() => undefined);
  });
  const outcome = result.catch((error: unknown) => error);
  await clock.advance(100);
  expect(await outcome).toMatchObject({
    message: expect.stringContaining("flush must end within 100 ms and did not"),
  });
  expect(reason).toMatchObject({ code: "deadline_exceeded" });
});

test("an error of the work passes through, a synchronous one too", async () => {
  const clock = new ManualClock();
  await expect(withDeadline(clock, 100, "work", () => Promise.reject(new Error("a")))).rejects.toThrow("a");
  const broken = (): Promise<void> => {
    throw new Error("b");
  };
  await expect(withDeadline(clock, 100, "work", broken)).rejects.toThrow("b");
  expect(clock.pending).toBe(0);
});

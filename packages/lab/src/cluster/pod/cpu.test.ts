import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ModelledCpu } from "./cpu.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("modelled work takes its time, one after the other, and counts as worked", () => {
  const cpu = new ModelledCpu(() => performance.now());
  const done: string[] = [];
  cpu.work(30, () => done.push("a"));
  cpu.work(20, () => done.push("b"));
  expect(cpu.queueLength).toBe(2);
  vi.advanceTimersByTime(30);
  expect([done, cpu.queueLength, cpu.workedSeconds]).toEqual([["a"], 1, 0.03]);
  vi.advanceTimersByTime(20);
  expect([done, cpu.queueLength]).toEqual([["a", "b"], 0]);
  vi.advanceTimersByTime(500);
  cpu.work(10, () => done.push("c"));
  vi.advanceTimersByTime(9);
  expect(done).toHaveLength(2);
  vi.advanceTimersByTime(1);
  expect([done, cpu.workedSeconds]).toEqual([["a", "b", "c"], 0.06]);
});

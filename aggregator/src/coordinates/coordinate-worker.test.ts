import { systemClock } from "@isochrone/runtime";
import { afterEach, describe, expect, test } from "vitest";
import { CoordinateError } from "../ports/errors.ts";
import { plane } from "../testing/fits.ts";
import { CoordinateWorker } from "./coordinate-worker.ts";

const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

function workerOf(threadUrl?: URL, timeoutMs = 60_000): CoordinateWorker {
  const worker = new CoordinateWorker({
    clock: systemClock,
    timeoutMs,
    ...(threadUrl === undefined ? {} : { threadUrl }),
  });
  cleanups.push(() => worker.close());
  return worker;
}

const thread = (code: string): URL => new URL(`data:text/javascript,${encodeURIComponent(code)}`);
const ON_MESSAGE = 'import { parentPort } from "node:worker_threads"; parentPort.on("message", ';
const MORTAL = new URL("../testing/mortal-coordinate-thread.ts", import.meta.url);

async function failureOf(fit: Promise<unknown>): Promise<CoordinateError> {
  const error: unknown = await fit.then(
    () => "a fit",
    (reason: unknown) => reason,
  );
  if (!(error instanceof CoordinateError))
    throw new Error(`expected a CoordinateError, got ${String(error)}`);
  return error;
}

describe("CoordinateWorker", () => {
  test("fits in a thread and answers by name, for pairs that nobody measured too", async () => {
    const map = plane(40, 10, 1);
    const { model, durationMs, rejected } = await workerOf().fit(map.input);
    const errors: number[] = [];
    for (let source = 0; source < 40; source++) {
      for (let target = 0; target < 40; target++) {
        if (source === target || map.isMeasured(source, target)) continue;
        const truth = map.rttMs(source, target);
        errors.push(Math.abs(model.estimate(`n${source}`, `n${target}`)!.rttMs - truth) / truth);
      }
    }
    errors.sort((a, b) => a - b);
    expect(errors.length).toBeGreaterThan(400);
    expect(errors[errors.length >> 1]).toBeLessThan(0.1);
    expect(model.coordinateOf("n3")!.length).toBeGreaterThanOrEqual(2);
    expect(model.estimate("n1", "stranger")).toBeNull();
    expect(model.coordinateOf("stranger")).toBeNull();
    expect(durationMs).toBeGreaterThan(0);
    expect(Object.values(rejected).every((count) => count === 0)).toBe(true);
  }, 30_000);

  test("goes on from the fit before, and counts what samples it can't use", async () => {
    const { input } = plane(30, 8, 2);
    const worker = workerOf();
    const first = await worker.fit(input);
    const rttMs = Float64Array.from(input.samples.rttMs, (ms, row) => (row === 0 ? Number.NaN : ms * 1.01));
    const second = await worker.fit({ ...input, samples: { ...input.samples, rttMs } });
    expect(Object.values(second.rejected).reduce((sum, count) => sum + count, 0)).toBe(1);
    const before = first.model.coordinateOf("n5")!;
    const after = second.model.coordinateOf("n5")!;
    // A cold fit would rotate the whole map.
    for (const [axis, at] of before.entries()) expect(Math.abs(after[axis]! - at)).toBeLessThan(10);
  }, 30_000);

  test("hands a new thread what the dead one had found", async () => {
    const { input } = plane(12, 5, 3);
    const worker = workerOf(MORTAL);
    await worker.fit(input);
    expect(await failureOf(worker.fit(input))).toMatchObject({ code: "coordinate_thread_died" });
    expect(await failureOf(worker.fit(input))).toMatchObject({
      code: "coordinate_fit_failed",
      message: "coordinates could not be fitted: starts from 12 nodes",
    });
  }, 30_000);

  test.each([
    ["that ends itself", `${ON_MESSAGE} () => process.exit(3));`],
    ["that throws", `${ON_MESSAGE} () => { throw new Error("oops"); });`],
    ["that doesn't even load", 'throw new Error("not today");'],
  ])("rejects when it has a thread %s, each time anew", async (_, code) => {
    const worker = workerOf(thread(code));
    const { input } = plane(5, 3, 4);
    for (let round = 0; round < 2; round++)
      expect(await failureOf(worker.fit(input))).toMatchObject({
        code: "coordinate_thread_died",
        retryable: true,
      });
  });

  test("ends a fit that takes too long, and the thread with it", async () => {
    const worker = workerOf(thread(`${ON_MESSAGE} () => { for (;;); });`), 300);
    const { input } = plane(5, 3, 5);
    for (let round = 0; round < 2; round++)
      expect(await failureOf(worker.fit(input))).toMatchObject({ code: "coordinate_fit_timeout" });
  });

  test("rejects the fit under way when it is closed", async () => {
    const worker = workerOf(thread(`${ON_MESSAGE} () => { for (;;); });`));
    const failure = failureOf(worker.fit(plane(5, 3, 6).input));
    await systemClock.sleep(50);
    await worker.close();
    expect(await failure).toMatchObject({ code: "coordinate_thread_died" });
  });
});

import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { afterEach, describe, expect, test } from "vitest";
import { until } from "../testing/harness.ts";
import { SupervisedWorker, type SupervisedWorkerOptions } from "./supervised-worker.ts";

const DYING = new URL("data:text/javascript,throw new Error('as always')");
const ECHO = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort, workerData } from "node:worker_threads";
    parentPort.on("message", (message) => {
      if (message === "exit") process.exit(3);
      parentPort.postMessage([workerData.word, message]);
    });`)}`,
);

const running: SupervisedWorker<string, unknown>[] = [];
const logger = new MemoryLogger();
const heard: unknown[] = [];
const causes: unknown[] = [];
let starts = 0;

afterEach(async () => {
  await Promise.all(running.splice(0).map((worker) => worker.close()));
  logger.lines.length = heard.length = causes.length = starts = 0;
});

function supervise(
  url: URL,
  values: Partial<SupervisedWorkerOptions<unknown>> = {},
): SupervisedWorker<string, unknown> {
  const worker = new SupervisedWorker<string, unknown>({
    name: "test",
    title: "test thread",
    url,
    data: { word: "hello" },
    clock: systemClock,
    logger,
    onStart: () => void starts++,
    onMessage: (message) => void heard.push(message),
    onDeath: (cause) => void causes.push(cause),
    isNeeded: () => true,
    ...values,
  });
  running.push(worker);
  return worker;
}

describe("supervised worker", () => {
  test("runs once, gets its data and messages, and is started anew when it ends by itself", async () => {
    const worker = supervise(ECHO);
    expect([worker.running, worker.post("lost")]).toEqual([false, false]);
    worker.start();
    worker.start();
    expect(starts).toBe(1);
    expect(worker.post("one")).toBe(true);
    await until("the echo", () => heard.length === 1);
    expect(heard).toEqual([["hello", "one"]]);
    worker.post("exit");
    await until("the new one", () => starts === 2);
    expect(worker.restarts).toBe(1);
    expect(String(causes[0])).toContain("the test thread ended with code 3");
    worker.post("two");
    await until("the echo", () => heard.length === 2);
  });

  test("one that keeps dying is started after longer and longer pauses, each death logged with its cause", async () => {
    const worker = supervise(DYING);
    worker.start();
    await until("three deaths", () => worker.restarts === 3);
    // `start` during the pause does not shorten it.
    worker.start();
    expect(worker.running).toBe(false);
    expect(
      logger.lines.map(({ event, fields }) => [event, fields["restartInMs"], fields["restarts"]]),
    ).toEqual([
      ["test thread died", 100, 1],
      ["test thread died", 200, 2],
      ["test thread died", 400, 3],
    ]);
    expect(causes.map(String)).toEqual(Array.from({ length: 3 }, () => "Error: as always"));
  });

  test("rests for good when nobody needs it any more, and after it was closed", async () => {
    const unneeded = supervise(DYING, { isNeeded: () => false });
    unneeded.start();
    await until("the death", () => unneeded.restarts === 1);
    const closed = supervise(DYING);
    closed.start();
    await until("the death", () => closed.restarts === 1);
    await closed.close();
    closed.start();
    await systemClock.sleep(300);
    expect([starts, unneeded.running, closed.running]).toEqual([2, false, false]);
  });
});

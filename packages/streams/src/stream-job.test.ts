import { describe, expect, test } from "vitest";
import { StreamError } from "./errors.ts";
import { createStreamJob, MAX_TASKS, SOURCE, type StreamJobSpec, type StreamTaskSpec } from "./stream-job.ts";

const NODES = ["east", "west"];
const task = (name: string, ...downstream: string[]): StreamTaskSpec => ({
  name,
  memoryBytes: 1,
  cpuMillicores: 1,
  downstream: downstream.map((target) => ({ task: target, bytesPerFrame: 10 })),
});
const spec = (over: Partial<StreamJobSpec> = {}): StreamJobSpec => ({
  name: "camera",
  source: "west",
  bytesPerFrame: 100,
  tasks: [task("track"), task("detect", "track"), task("decode", "detect")],
  ...over,
});
const create = (over: Partial<StreamJobSpec> = {}, seconds: number | null = 1) =>
  createStreamJob(spec(over), NODES, (name, node) => (name === "detect" && node === 0 ? null : seconds));

describe("createStreamJob", () => {
  test("puts tasks into topological order and feeds those without a predecessor from the source, in bits", () => {
    const job = create();
    expect(job.tasks.map(({ name }) => name)).toEqual(["decode", "detect", "track"]);
    expect(job.source).toBe(1);
    expect(job.dependencies).toEqual([
      { source: SOURCE, target: 0, bitsPerFrame: 800 },
      { source: 0, target: 1, bitsPerFrame: 80 },
      { source: 1, target: 2, bitsPerFrame: 80 },
    ]);
    expect([...job.secondsPerFrame]).toEqual([1, 1, Infinity, 1, 1, 1]);
  });

  test.each([
    [
      "a cycle",
      { tasks: [task("a", "b"), task("b", "c"), task("c", "a")] },
      "tasks must form no cycle, got a -> b -> c -> a",
    ],
    ["a task that feeds itself", { tasks: [task("a", "a")] }, "tasks must form no cycle, got a -> a"],
    ["an unknown task", { tasks: [task("a", "b")] }, "downstream of task a must be a task of the job, got b"],
    ["a name twice", { tasks: [task("a"), task("a")] }, "tasks must have different names, got a twice"],
    [
      "a target twice",
      { tasks: [task("a", "b", "b"), task("b")] },
      "downstream of task a must differ, got b twice",
    ],
    ["an unknown source", { source: "north" }, "source must be a node of the network, got north"],
    ["no tasks", { tasks: [] }, `tasks must be 1 to ${MAX_TASKS}, got 0`],
    ["10,000 tasks", { tasks: Array.from({ length: 10_000 }, (_, at) => task(`t${at}`)) }, "got 10000"],
    [
      "frames of nothing",
      { bytesPerFrame: 0 },
      "bytesPerFrame of the source must be a number above 0 and at most 2^53 - 1, got 0",
    ],
    ["frames of NaN", { bytesPerFrame: Number.NaN }, "got NaN"],
    ["frames beyond 2^53", { bytesPerFrame: 2 ** 53 }, "got 9007199254740992"],
    [
      "a negative promise",
      { minThroughput: -1 },
      "minThroughput must be a number above 0 and at most 2^53 - 1, got -1",
    ],
    [
      "negative memory",
      { tasks: [{ ...task("a"), memoryBytes: -1 }] },
      "memoryBytes of task a must be a number of at least 0",
    ],
  ] as const)("refuses %s", (_, over, message) => {
    expect(() => create(over)).toThrow(StreamError);
    expect(() => create(over)).toThrow(`stream job camera: `);
    expect(() => create(over)).toThrow(message);
  });

  test("refuses a profile of no time, naming task and node", () => {
    expect(() => create({}, 0)).toThrow(
      "stream job camera: seconds per frame of task decode on east must be above 0, got 0",
    );
  });
});

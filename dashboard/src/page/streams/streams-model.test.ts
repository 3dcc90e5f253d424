import type { StreamJobView } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { inOrder, limitOf, slowestOf, totals, troubleOf, useOf } from "./streams-model.ts";

const job = (name: string, fields: Partial<StreamJobView> = {}): StreamJobView => ({
  namespace: "site",
  name,
  phase: "Running",
  framesPerSecond: 5,
  measuredFramesPerSecond: 4.9,
  minThroughput: null,
  limit: { kind: "task", task: "detect", node: "box" },
  waits: null,
  tasks: [],
  flows: [],
  ...fields,
});

const WAITS = job("waits", {
  phase: "Waiting",
  framesPerSecond: null,
  measuredFramesPerSecond: null,
  minThroughput: 3,
  limit: null,
  waits: { reason: "Promises", message: "at most 1.20 are left for it" },
});

describe("a job", () => {
  test.each<[string, StreamJobView, string | null]>([
    ["goes as predicted", job("a"), null],
    ["isn't measured", job("a", { measuredFramesPerSecond: null }), null],
    ["is slower than predicted", job("a", { measuredFramesPerSecond: 4.4 }), "it gets less than predicted"],
    ["waits", WAITS, "at most 1.20 are left for it"],
    ["has a broken promise", job("a", { minThroughput: 6 }), "its promise is broken"],
    ["has a promise that rounding took", job("a", { minThroughput: 5.000001 }), null],
    ["has failed", job("a", { phase: "Failed" }), "its spec can't be carried out"],
  ])("that %s is told so", (_, each, words) => {
    expect(troubleOf(each)?.words ?? null).toBe(words);
  });

  test("names what limits it, and the pair of a link", () => {
    expect(limitOf(job("a"))).toMatchObject({ words: "task detect on box", pair: null });
    expect(limitOf(job("a", { limit: { kind: "source", node: "camera" } }))?.words).toBe("source on camera");
    expect(limitOf(job("a", { limit: { kind: "link", source: "box", target: "server" } }))).toEqual({
      kind: "link",
      words: "link box → server",
      pair: ["box", "server"],
    });
    expect(limitOf(WAITS)).toBeNull();
  });
});

test("jobs with trouble come first", () => {
  const jobs = [job("b"), job("a"), WAITS, job("broken", { minThroughput: 9 })];
  expect(inOrder(jobs).map(({ name }) => name)).toEqual(["broken", "waits", "a", "b"]);
});

test("sums are of jobs with nodes; an unknown figure is not 0", () => {
  expect(totals([job("a"), job("b", { minThroughput: 4 }), WAITS])).toEqual({
    predicted: 10,
    measured: 9.8,
    promises: 2,
    broken: 0,
  });
  expect(totals([job("a"), job("b", { measuredFramesPerSecond: null })]).measured).toBeNull();
});

test("a link of unknown capacity has no use", () => {
  const link = { source: "a", target: "b", plannedBitsPerSecond: 3e6, sentBitsPerSecond: 2e6, flows: [] };
  expect(useOf({ ...link, capacityBitsPerSecond: 4e6 })).toEqual({ planned: 0.75, sent: 0.5 });
  expect(useOf({ ...link, capacityBitsPerSecond: 4e6, sentBitsPerSecond: null })?.sent).toBeNull();
  expect(useOf({ ...link, capacityBitsPerSecond: null })).toBeNull();
});

test("the slowest job is the one with the lowest known pace, measured before predicted", () => {
  const paced = (name: string, predicted: number | null, measured: number | null): StreamJobView =>
    job(name, { framesPerSecond: predicted, measuredFramesPerSecond: measured });
  expect(slowestOf([])).toBeNull();
  expect(slowestOf([paced("a", null, null)])).toBeNull();
  expect(slowestOf([paced("a", 3, null), paced("b", 9, 2), paced("c", null, null)])?.name).toBe("b");
  expect(slowestOf([paced("b", 3, 3), paced("a", 3, null)])?.name).toBe("a");
});

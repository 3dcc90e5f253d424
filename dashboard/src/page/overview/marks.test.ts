import type { Decision } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { marksOf, moveMarksOf, type LabMark } from "./marks.ts";

const at = (second: number): string => new Date(second * 1000).toISOString();
const link = { rttMs: 12, jitterMs: 0, lossRatio: 0, bandwidthBitsPerSecond: null, cut: false };
const change = (second: number, source: string, target: string, after: object, before = link): LabMark => ({
  at: at(second),
  kind: "link",
  source,
  target,
  before,
  after: { ...before, ...after },
});
const move = (second: number, workload: string): LabMark => ({
  at: at(second),
  kind: "move",
  workload,
  from: "a",
  to: "b",
});

describe("marks", () => {
  test("tell a change of both ways once, and whether it is for the worse", () => {
    const slow = { ...link, rttMs: 80 };
    const marks = marksOf([
      change(1, "a", "b", { rttMs: 80 }),
      change(1, "b", "a", { rttMs: 80 }),
      change(20, "a", "b", { rttMs: 12 }, slow),
      change(30, "a", "b", { cut: true }),
      change(40, "a", "b", { cut: false }, { ...link, cut: true }),
      change(50, "a", "b", { lossRatio: 0.3 }),
      { at: at(60), kind: "down", reason: "killed" },
      { at: at(70), kind: "killed", node: "c" },
    ]);
    expect(marks.map(({ at: when, kind, text }) => [when, kind, text])).toEqual([
      [1, "fault", "a ↔ b: 12 ms → 80 ms"],
      [20, "heal", "a ↔ b: 80 ms → 12 ms"],
      [30, "fault", "a ↔ b: cut"],
      [40, "heal", "a ↔ b: healed"],
      [50, "fault", "a ↔ b: loses 30 %"],
      [60, "fault", "the network is down: killed"],
      [70, "fault", "c is killed"],
    ]);
  });

  test("leave out a link that is set to what it is", () =>
    expect(marksOf([change(1, "a", "b", { rttMs: 12 })])).toEqual([]));

  test("of a cluster are the descheduler's moves: under way, done, or failed and how", () => {
    const eviction = (
      second: number,
      workload: string,
      outcome?: { second: number; node: string | null; result: string },
    ) =>
      ({
        kind: "eviction",
        at: at(second),
        workload,
        pod: { namespace: "shop", name: `${workload}-1` },
        strategy: "descheduler",
        best: "b",
        binding: { node: "a" },
        ...(outcome === undefined ? {} : { outcome: { ...outcome, at: at(outcome.second) } }),
      }) as unknown as Decision;
    const marks = moveMarksOf([
      eviction(100, "late", { second: 104, node: "b", result: "on_target" }),
      eviction(10, "under-way"),
      eviction(50, "lost", { second: 60, node: null, result: "lost" }),
      eviction(150, "astray", { second: 160, node: "c", result: "elsewhere" }),
      eviction(170, "same", { second: 180, node: "a", result: "elsewhere" }),
      eviction(190, "kept", { second: 200, node: null, result: "withdrawn" }),
      { ...eviction(250, "paper", { second: 260, node: "c", result: "elsewhere" }), strategy: "raw" },
      { ...eviction(70, "placed"), kind: "score" },
    ]);
    expect(marks).toEqual([
      { at: 10, kind: "move", text: "under-way: a → b, moving" },
      { at: 60, kind: "fault", text: "lost: a → b failed, it had no ready replacement in time" },
      { at: 104, kind: "move", text: "late: a → b" },
      { at: 160, kind: "fault", text: "astray: a → b failed, its replacement runs on c" },
      { at: 180, kind: "fault", text: "same: a → b failed, its replacement runs on a" },
      { at: 200, kind: "fault", text: "kept: a → b failed, it stays on a" },
      { at: 260, kind: "move", text: "paper: a → c" },
    ]);
  });

  test("tell moves that follow each other closely together, in the order of time", () => {
    const marks = marksOf([
      move(1, "m1"),
      move(10, "m2"),
      change(12, "a", "b", { cut: true }),
      move(15, "m3"),
      move(90, "m4"),
    ]);
    expect(marks.map(({ at: when, kind, text }) => [when, kind, text])).toEqual([
      [1, "move", "3 pods moved"],
      [12, "fault", "a ↔ b: cut"],
      [90, "move", "m4: a → b"],
    ]);
  });
});

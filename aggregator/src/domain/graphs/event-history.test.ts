import type { GraphEvent } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { EventHistory } from "./event-history.ts";

function event(version: number, links = 0): GraphEvent {
  const change = { source: "a", target: "b", costMs: 1, lossRatio: 0 };
  return {
    version,
    observedAt: "2026-01-01T00:00:00.000Z",
    changed: { nodes: [], links: Array.from({ length: links }, () => change), workflows: [] },
  };
}

function history(limit: number, versions: readonly number[]): EventHistory {
  const made = new EventHistory("epoch-1", limit);
  for (const version of versions) made.push(event(version));
  return made;
}

describe("EventHistory", () => {
  test("a client gets exactly what it missed", () => {
    const resume = history(10, [1, 2, 3]).after("epoch-1-1");
    expect(resume.kind === "replay" && resume.events.map(({ version }) => version)).toEqual([2, 3]);
  });

  test("a client that missed nothing gets nothing", () => {
    expect(history(10, [1, 2, 3]).after("epoch-1-3")).toEqual({ kind: "replay", events: [] });
  });

  test.each([
    ["another life of the replica", "epoch-0-2"],
    ["a version that never was", "epoch-1-4"],
    ["a version too far back", "epoch-1-4-1"],
    ["no id at all", "nonsense"],
  ])("%s is a reset", (_, id) => {
    expect(history(2, [1, 2, 3]).after(id)).toEqual({ kind: "reset" });
  });

  test("what fell out of the history can't be caught up on", () => {
    const short = history(2, [1, 2, 3, 4]);
    expect(short.after("epoch-1-1")).toEqual({ kind: "reset" });
    expect(short.after("epoch-1-2").kind).toBe("replay");
  });

  test("large events shorten the history, so that it stays bounded in memory", () => {
    const large = new EventHistory("e", 1000);
    for (let version = 1; version <= 10; version++) large.push(event(version, 50_000));
    expect(large.after("e-5")).toEqual({ kind: "reset" });
    expect(large.after("e-6").kind).toBe("replay");
  });
});

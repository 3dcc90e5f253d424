import type { Metric } from "@isochrone/telemetry";
import { describe, expect, it } from "vitest";
import { batchesOf } from "./records.ts";

describe("batchesOf", () => {
  it("cuts a page into batches of at most so many points and loses none", () => {
    const points = Array.from({ length: 7 }, (_, value) => ({ attributes: {}, timeMs: 1, value }));
    const metrics: Metric[] = [
      { name: "a", kind: "gauge", points },
      { name: "b", kind: "gauge", points: points.slice(0, 2) },
    ];
    const batches = batchesOf({ node: "n" }, metrics, 4);
    expect(
      batches.map((batch) => batch.metrics.map(({ name, points }) => `${name}${points.length}`)),
    ).toEqual([["a4"], ["a3", "b1"], ["b1"]]);
  });
});

import { describe, expect, it } from "vitest";
import { bar, createProgress } from "./progress.ts";

describe("progress", () => {
  it("writes nothing where there is no terminal", () => {
    const written: string[] = [];
    const progress = createProgress({ write: (text: string) => written.push(text) }, () => 0);
    progress.at(0.5, "work");
    progress.clear();
    expect(written).toEqual([]);
  });

  it("draws at most every 50 ms, and takes the bar away", () => {
    const written: string[] = [];
    let now = 0;
    const progress = createProgress({ isTTY: true, write: (text: string) => written.push(text) }, () => now);
    for (; now < 100; now += 10) progress.at(now / 100, "work");
    progress.clear();
    progress.clear();
    expect(written).toHaveLength(3);
    expect(written[2]).toBe("\r\u001b[K");
  });

  it.each([
    [0, "[----]   0 %"],
    [0.5, "[##--]  50 %"],
    [7, "[####] 100 %"],
    [Number.NaN, "[----]   0 %"],
  ])("shows %d as %s", (share, text) => {
    expect(bar(share, 4)).toBe(text);
  });
});

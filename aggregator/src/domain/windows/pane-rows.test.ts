import { describe, expect, it } from "vitest";
import { PaneRows } from "./pane-rows.ts";

describe("PaneRows", () => {
  it("gives each taker a row of its own, over many blocks", () => {
    const rows = new PaneRows({ panes: 3, paneMs: 10 });
    const all = Array.from({ length: 5000 }, () => rows.take());
    expect(new Set(all).size).toBe(all.length);
    for (const [i, row] of all.entries()) for (let pane = 7; pane < 12; pane++) rows.add(row, pane, i);
    expect(all.every((row, i) => rows.sum(row, 7, 11) === 5 * i)).toBe(true);
    expect(rows.used).toBe(5000);
  });

  it("gives a row out again, all zeros, once it was released", () => {
    const rows = new PaneRows({ panes: 3, paneMs: 10 });
    const row = rows.take();
    rows.set(row, 4, 5);
    rows.release(row);
    expect(rows.used).toBe(0);
    expect(rows.take()).toBe(row);
    expect(rows.sum(row, 0, rows.length - 1)).toBe(0);
  });
});

import { describe, expect, it } from "vitest";
import { Window } from "./window.ts";

interface Total {
  sum: number;
}

function createWindow(): Window<Total> {
  return new Window<Total>({
    paneMs: 10,
    panes: 3,
    create: () => ({ sum: 0 }),
    merge: (into, from) => {
      into.sum += from.sum;
    },
  });
}

function add(window: Window<Total>, timeMs: number, nowMs: number, value: number): boolean {
  const pane = window.pane(timeMs, nowMs);
  if (pane !== null) pane.sum += value;
  return pane !== null;
}

describe("Window.pane", () => {
  it("gives the same pane for all times of it", () => {
    const window = createWindow();
    expect(window.pane(100, 109)).toBe(window.pane(109.9, 109));
    expect(window.pane(110, 110)).not.toBe(window.pane(109.9, 110));
  });

  it("takes what is late but inside the window, in any order", () => {
    const window = createWindow();
    for (const timeMs of [125, 105, 115]) expect(add(window, timeMs, 125, 1)).toBe(true);
    expect(Array.from(window.entries(), ({ startMs }) => startMs)).toEqual([100, 110, 120]);
    expect(window.read(125)).toEqual({ sum: 3 });
  });

  it("refuses what is older than the window", () => {
    const window = createWindow();
    expect(window.pane(99.9, 125)).toBeNull();
    expect(window.pane(100, 125)).not.toBeNull();
  });

  it("takes what is one pane ahead and refuses what is further in the future", () => {
    const window = createWindow();
    expect(window.pane(135, 125)).not.toBeNull();
    expect(window.pane(135.1, 125)).toBeNull();
    expect(window.pane(Infinity, 125)).toBeNull();
  });

  it("refuses times that are no numbers", () => {
    expect(createWindow().pane(NaN, 125)).toBeNull();
    expect(createWindow().pane(-Infinity, 125)).toBeNull();
  });

  it("holds no more than its panes and the one ahead, however long it is written to", () => {
    const window = createWindow();
    for (let nowMs = 0; nowMs < 1_000; nowMs += 10) {
      window.pane(nowMs + 10, nowMs);
      window.pane(nowMs, nowMs);
      expect([...window.entries()].length).toBeLessThanOrEqual(4);
    }
  });
});

describe("Window.read", () => {
  it("is null without data", () => {
    expect(createWindow().read(100)).toBeNull();
  });

  it("leaves out the pane ahead until its time comes", () => {
    const window = createWindow();
    add(window, 130, 125, 1);
    expect(window.read(125)).toBeNull();
    expect(window.read(130)).toEqual({ sum: 1 });
  });

  it("leaves out panes that slid out, even before they are dropped", () => {
    const window = createWindow();
    add(window, 100, 100, 1);
    add(window, 110, 110, 2);
    expect(window.read(129)).toEqual({ sum: 3 });
    expect(window.read(130)).toEqual({ sum: 2 });
    expect(window.read(140)).toBeNull();
  });

  it("reads only the newest panes when asked to", () => {
    const window = createWindow();
    for (const timeMs of [100, 110, 120]) add(window, timeMs, 120, timeMs);
    expect(window.read(120, { panes: 2 })).toEqual({ sum: 230 });
    expect(window.read(120, { panes: 99 })).toEqual({ sum: 330 });
  });

  it("gives a copy, not a pane", () => {
    const window = createWindow();
    add(window, 100, 100, 1);
    window.read(100)!.sum = 99;
    expect(window.read(100)).toEqual({ sum: 1 });
  });
});

describe("Window.expire", () => {
  it("says when nothing is left", () => {
    const window = createWindow();
    add(window, 100, 100, 1);
    expect(window.expire(129)).toBe(false);
    expect(window.expire(130)).toBe(true);
    expect([...window.entries()]).toEqual([]);
  });
});

describe("a new Window", () => {
  it.each([0, -1, NaN, Infinity])("refuses panes of %d ms", (paneMs) => {
    expect(() => new Window({ paneMs, panes: 3, create: () => 0, merge: () => {} })).toThrow(
      "paneMs must be",
    );
  });
  it.each([0, -1, 1.5, NaN])("refuses %d panes", (panes) => {
    expect(() => new Window({ paneMs: 1, panes, create: () => 0, merge: () => {} })).toThrow("panes must be");
  });
});

import { describe, expect, test } from "vitest";
import { cellAt, fitted, panned, placeBeside, showing, zoomed } from "./viewport.ts";

const field = { width: 500, height: 400 };

describe("the viewport", () => {
  test("shows all cells as large as there is room for, and few ones no larger than is useful", () => {
    expect(fitted(1000, field).scale).toBe(0.4);
    expect(fitted(8, field).scale).toBe(50);
    expect(fitted(8, { width: 1000, height: 900 }).scale).toBe(112.5);
    expect(fitted(1, field).scale).toBe(200);
    expect(fitted(0, field).scale).toBe(200);
  });

  test("keeps the point under the pointer when it zooms, and the edges", () => {
    const at = { x: 200, y: 100 };
    const before = fitted(1000, field);
    const near = zoomed(before, 20, at, 1000, field);
    expect(near.scale).toBeCloseTo(8);
    expect(cellAt(near, at, 1000)).toEqual(cellAt(before, at, 1000));
    expect(zoomed(near, 0.001, at, 1000, field)).toEqual(before);
    const panning = panned(near, 1e6, -1e6, 1000, field);
    expect(panning).toEqual({ scale: near.scale, x: 0, y: 400 - 8000 });
  });

  test("follows the cell that one goes to by keys", () => {
    const near = { scale: 10, x: 0, y: 0 };
    expect(showing(near, { row: 60, column: 3 }, 100, field)).toEqual({ scale: 10, x: 0, y: -210 });
    expect(showing({ scale: 10, x: -100, y: -210 }, { row: 60, column: 3 }, 100, field)).toEqual({
      scale: 10,
      x: -30,
      y: -210,
    });
  });

  test("knows no cell beside the square", () => {
    expect(cellAt({ scale: 10, x: 0, y: 0 }, { x: 31, y: 5 }, 3)).toBeNull();
    expect(cellAt({ scale: 10, x: 0, y: 0 }, { x: -1, y: 5 }, 3)).toBeNull();
  });

  test("has room for a box beside a point, whatever corner it is in", () => {
    const frame = [400, 300] as const;
    const box = [150, 80] as const;
    expect(placeBeside({ x: 10, y: 10 }, box, frame)).toEqual({ left: 24, top: 24 });
    expect(placeBeside({ x: 390, y: 290 }, box, frame)).toEqual({ left: 250, top: 196 });
    expect(placeBeside({ x: 160, y: 40 }, [390, 80], frame)).toEqual({ left: 10, top: 54 });
  });
});

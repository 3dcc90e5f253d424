import { describe, expect, it } from "vitest";
import { OtlpError } from "./errors.ts";
import { decodeHeaders, encodeHeaders } from "./headers.ts";

const identity = { source: "node-1", epoch: "k3x9", sequence: 42, sentAtMs: 1_767_225_610_250.125 };

describe("record headers", () => {
  it("are what the bus contract says", () => {
    expect(encodeHeaders(identity)).toEqual({
      "isochrone-source": "node-1",
      "isochrone-epoch": "k3x9",
      "isochrone-sequence": "42",
      "isochrone-sent-at": "1767225610250.125",
      "content-type": "application/x-protobuf",
    });
  });

  it("come back as they were", () => {
    expect(decodeHeaders(encodeHeaders(identity))).toEqual(identity);
    const largest = { ...identity, sequence: 2 ** 53 - 1 };
    expect(decodeHeaders(encodeHeaders(largest))).toEqual(largest);
  });

  it("are none for a foreign record", () => {
    expect(decodeHeaders({})).toBeNull();
    expect(decodeHeaders({ "content-type": "application/x-protobuf", traceparent: "00-1-2-3" })).toBeNull();
  });

  it.each(["isochrone-source", "isochrone-epoch", "isochrone-sequence", "isochrone-sent-at"])(
    "are refused without %s, and the error names it",
    (name) => {
      const headers = encodeHeaders(identity);
      delete headers[name];
      expect(() => decodeHeaders(headers)).toThrow(`header ${name} must be`);
    },
  );

  const hostile: readonly (readonly [string, string])[] = [
    ["isochrone-sequence", "abc"],
    ["isochrone-sequence", ""],
    ["isochrone-sequence", "-1"],
    ["isochrone-sequence", "1.5"],
    ["isochrone-sequence", "1e3"],
    ["isochrone-sequence", " 1"],
    ["isochrone-sequence", "9007199254740992"],
    ["isochrone-sequence", "99999999999999999999"],
    ["isochrone-sent-at", "NaN"],
    ["isochrone-sent-at", "Infinity"],
    ["isochrone-sent-at", "-5"],
    ["isochrone-sent-at", "1e400"],
    ["isochrone-source", ""],
    ["isochrone-source", "a b"],
    ["isochrone-source", "a\nb"],
    ["isochrone-source", "x".repeat(254)],
    ["isochrone-epoch", "é"],
    ["isochrone-epoch", "x".repeat(65)],
  ];
  it.each(hostile)("are refused with %s: %j", (name, value) => {
    const headers = { ...encodeHeaders(identity), [name]: value };
    expect(() => decodeHeaders(headers)).toThrow(OtlpError);
    expect(() => decodeHeaders(headers)).toThrow(expect.objectContaining({ code: "bad_headers" }));
  });

  it("are not made of an identity that could not be read back", () => {
    expect(() => encodeHeaders({ ...identity, source: "" })).toThrow("header isochrone-source must be");
    expect(() => encodeHeaders({ ...identity, sequence: 0.5 })).toThrow("header isochrone-sequence must be");
    expect(() => encodeHeaders({ ...identity, sentAtMs: NaN })).toThrow("header isochrone-sent-at must be");
  });
});

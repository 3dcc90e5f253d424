import { describe, expect, it } from "vitest";
import {
  assignments,
  bitsPerSecond,
  durationFrom,
  durationMs,
  httpUrl,
  positiveNumber,
  ratio,
  wholeNumber,
} from "./options.ts";

describe("options", () => {
  it.each([
    [durationMs, "80ms", 80],
    [durationMs, "2s", 2000],
    [durationMs, "1.5m", 90_000],
    [durationMs, "250", 250],
    [ratio, "0.01", 0.01],
    [ratio, "1%", 0.01],
    [bitsPerSecond, "100M", 1e8],
    [bitsPerSecond, "1.5G", 1.5e9],
    [positiveNumber(10), "2.5", 2.5],
    [wholeNumber(0, 65_535), "0", 0],
  ] as const)("%o reads %s", (read, text, value) => {
    expect(read(text)).toBeCloseTo(value, 12);
  });

  it.each([
    [durationMs, "-5ms"],
    [durationMs, "soon"],
    [ratio, "1.5"],
    [ratio, ""],
    [bitsPerSecond, "fast"],
    [positiveNumber(10), "0"],
    [positiveNumber(10), "Infinity"],
    [positiveNumber(10_000), "1e9"],
    [durationMs, `${"9".repeat(400)}m`],
    [durationMs, "40000m"],
    [durationFrom(1_000, 3_600_000), "1ms"],
    [bitsPerSecond, `${"9".repeat(400)}G`],
    [assignments, `alpha=${"9".repeat(400)}`],
    [wholeNumber(1, 16), "17"],
    [wholeNumber(1, 16), "1.5"],
    [httpUrl, "ftp://somewhere"],
    [httpUrl, "nowhere"],
    [assignments, "alpha"],
    [assignments, "alpha=half"],
  ] as const)("%o refuses %j, naming it", (read, text) => {
    expect(() => read(text)).toThrow(JSON.stringify(text));
  });

  it.each([
    ["127.0.0.1:8080", "http://127.0.0.1:8080"],
    ["localhost:9000/", "http://localhost:9000"],
    ["[::1]:8080", "http://[::1]:8080"],
    ["https://graph.example/isochrone/", "https://graph.example/isochrone"],
  ])("reads %s as an address", (text, address) => {
    expect(httpUrl(text)).toBe(address);
  });

  it("reads assignments", () => {
    expect(assignments("alpha=0.3, beta=0.7")).toEqual({ alpha: 0.3, beta: 0.7 });
  });

  it("names the bounds of a duration in units", () => {
    expect(() => durationFrom(1_000, 3_600_000)("500ms")).toThrow('from 1s to 60m, got "500ms"');
    expect(() => durationFrom(1_500, 2_000)("3s")).toThrow("from 1500ms to 2s");
    expect(() => durationFrom(0, 500)("1s")).toThrow("from 0ms to 500ms");
  });
});

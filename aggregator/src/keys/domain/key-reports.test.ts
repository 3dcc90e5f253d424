import { describe, expect, test } from "vitest";
import { KeyReports, parseKeyReport } from "./key-reports.ts";

const THIRTY_TWO = Array.from({ length: 32 }, (_, index) => 40_001 + index);

describe("parseKeyReport", () => {
  test.each([
    ["1;signing=1", [1], 1],
    ["1,2;signing=1", [1, 2], 1],
    ["65535,7,9;signing=9", [65_535, 7, 9], 9],
    [";signing=0", [], 0],
    [`${THIRTY_TWO.join()};signing=40032`, THIRTY_TWO, 40_032],
  ])("%s", (text, heldKeyIds, signingKeyId) => {
    expect(parseKeyReport(text)).toEqual({ heldKeyIds, signingKeyId });
  });

  test.each([
    ["", "be up to 32 key ids"],
    ["1", "be up to 32 key ids"],
    ["1, 2;signing=1", "be up to 32 key ids"],
    ["1,2;signing=1 ", "be up to 32 key ids"],
    ["0;signing=0", "be up to 32 key ids"],
    ["01;signing=1", "be up to 32 key ids"],
    ["-1;signing=1", "be up to 32 key ids"],
    ["1;signing=1;signing=1", "be up to 32 key ids"],
    [`${Array.from({ length: 33 }, (_, index) => index + 1).join()};signing=1`, "be up to 32 key ids"],
    ["99999;signing=99999", "key ids from 1 to 65535"],
    ["1,1;signing=1", "each key id once"],
    ["1,2;signing=3", "sign with a key that is held"],
    ["1;signing=0", "sign with a key that is held"],
    [";signing=1", "sign with a key that is held"],
  ])("refuses %j", (text, rule) => {
    expect(() => parseKeyReport(text)).toThrow(rule);
  });

  test("of a long report only the beginning is shown", () => {
    expect(() => parseKeyReport("9".repeat(10_000))).toThrow(/^.{1,250}$/);
  });
});

describe("KeyReports", () => {
  test("what was said stays said, but a probe that is silent isn't known to be there", () => {
    const reports = new KeyReports(60_000);
    const report = { heldKeyIds: [1], signingKeyId: 1 };
    reports.record("a", report, 1_000);
    reports.record("b", null, 1_000);
    expect([reports.of("a"), reports.of("b"), reports.of("c")]).toEqual([report, null, null]);
    expect([reports.isLive("a", 61_000), reports.isLive("b", 61_000)]).toEqual([true, true]);
    expect([reports.isLive("a", 61_001), reports.isLive("c", 0)]).toEqual([false, false]);
  });

  test("probes of nodes that are gone are forgotten", () => {
    const reports = new KeyReports(60_000);
    for (const node of ["a", "b", "c"]) reports.record(node, null, 0);
    reports.retain((node) => node === "b");
    expect(reports.size).toBe(1);
  });
});

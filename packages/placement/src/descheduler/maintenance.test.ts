import { describe, expect, test } from "vitest";
import { isOpen, parseMaintenanceWindow } from "./maintenance.ts";

/** 2026-01-01 is a Thursday. */
const at = (text: string): number => Date.parse(`2026-01-${text}:00Z`);

describe("a maintenance window", () => {
  test.each([
    ["22:00-04:00", "01T23:59", true],
    ["22:00-04:00", "01T03:59", true],
    ["22:00-04:00", "01T04:00", false],
    ["22:00-04:00", "01T21:59", false],
    ["Thu 09:00-10:00", "01T09:00", true],
    ["Thu 09:00-10:00", "02T09:00", false],
    ["Thu 22:00-04:00", "02T03:00", true],
    ["Thu 22:00-04:00", "01T03:00", false],
    ["Fri-Mon 00:00-24:00", "05T12:00", true],
    ["Fri-Mon 00:00-24:00", "06T00:00", false],
    ["Fri-Mon 00:00-24:00", "01T12:00", false],
    ["08:00-08:00", "01T07:00", true],
    ["sat 00:00-24:00", "03T23:59", true],
  ])("%s at 2026-01-%s: %s", (text, time, open) => {
    expect(isOpen([parseMaintenanceWindow(text)], at(time))).toBe(open);
  });

  test("any of several will do, and without one it is always time", () => {
    const windows = ["Thu 09:00-10:00", "Fri 09:00-10:00"].map(parseMaintenanceWindow);
    expect(isOpen(windows, at("02T09:30"))).toBe(true);
    expect(isOpen([], at("02T09:30"))).toBe(true);
  });

  test.each(["", "22-04", "25:00-26:00", "10:00-10:60", "Foo 10:00-11:00", "24:00-02:00", "10:00-11:00 CET"])(
    "refuses %j",
    (text) => {
      expect(() => parseMaintenanceWindow(text)).toThrow(/a maintenance window must .*, got/);
    },
  );
});

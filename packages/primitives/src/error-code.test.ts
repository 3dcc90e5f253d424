import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { codeOf } from "./errors.ts";

test("it is the code of the system's error", () => {
  let failure: unknown;
  try {
    readFileSync(`${import.meta.filename}.missing`);
  } catch (error) {
    failure = error;
  }
  expect(codeOf(failure)).toBe("ENOENT");
});

test.each<[string, unknown]>([
  ["an error without a code", new Error("plain")],
  ["a DOMException, whose code is a number", new DOMException("away", "AbortError")],
  ["what is no error", { code: "ENOENT" }],
  ["nothing", undefined],
])("%s has none", (_, error) => {
  expect(codeOf(error)).toBeUndefined();
});
